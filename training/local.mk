# SPDX-License-Identifier: BSD-3-Clause
noinst_LIBRARIES += training/libtraining.a
training_libtraining_a_SOURCES = \
	training/buckets.c training/buckets.h \
	training/model.c training/model.h \
	training/plan.c training/plan.h \
	training/probe_training.c training/probe_training.h \
	training/replicas.c training/replicas.h \
	training/step.c training/step.h \
	training/training.c training/training.h \
	training/weights.c training/weights.h
FC_LIBS += training/libtraining.a
