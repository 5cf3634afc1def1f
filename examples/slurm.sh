#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: sbatch examples/slurm.sh MODEL DATA FIT [options of girsanov fit]
#
# A fit on MPI ranks under Slurm. A minute before its time limit the job gets a
# signal, saves its state and is queued again. It then continues on any number of
# nodes with the same bits.
#SBATCH --job-name=girsanov
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@60
#SBATCH --requeue
set -euo pipefail
model=$1 data=$2 fit=$3
shift 3
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}

code=0
srun --mpi=pmix --cpus-per-task="$OMP_NUM_THREADS" girsanov fit "$model" "$data" \
    -o "$fit" --checkpoint "$fit.at" --resume --threads "$OMP_NUM_THREADS" "$@" || code=$?

# 130: interrupted, and the state is saved. The next job resumes it.
if [ "$code" -eq 130 ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    scontrol requeue "$SLURM_JOB_ID"
    exit 0
fi
exit "$code"
