# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += device/libdevice.a
device_libdevice_a_SOURCES = \
	device/crew.c device/crew.h \
	device/device.h \
	device/gemm_check.c device/gemm_check.h \
	device/host.c device/host.h \
	device/host_blas.c device/host_blas.h \
	device/host_data.c device/host_data.h \
	device/host_peak.c device/host_peak.h \
	device/host_system.c device/host_system.h \
	device/pattern.c \
	device/probe_device.c device/probe_device.h \
	device/probe_work.c device/probe_work.h \
	device/trial.c device/trial.h
device_libdevice_a_CFLAGS = $(AM_CFLAGS) $(OPENBLAS_CFLAGS)
FC_LIBS += device/libdevice.a
