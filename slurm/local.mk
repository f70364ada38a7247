# SPDX-License-Identifier: BSD-3-Clause
# What a site copies and adapts; each says in its first lines how.
slurmdir = $(pkgdatadir)/slurm
dist_slurm_SCRIPTS = slurm/fabricheck.sbatch slurm/healthcheck.sh slurm/prolog.sh
