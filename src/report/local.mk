# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += src/report/libreport.a
src_report_libreport_a_SOURCES = \
	src/report/render.h \
	src/report/report.c src/report/report.h \
	src/report/text.c src/report/text.h \
	src/report/text_parts.c
FC_LIBS += src/report/libreport.a
