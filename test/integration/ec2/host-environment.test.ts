/** What the packages of a region find in a host's own environment over them. */
import { execFile } from 'node:child_process';
import { lstat, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { layEnvironment } from '@tidewheel/emulators/environments/host-environment.ts';
import { expect, it, onTestFinished } from 'vitest';
import { PYTHON } from '../../support/region.ts';

const run = promisify(execFile);

// Lightning imports mpi4py wherever it is there, so this stopped scripts that use no MPI too.
it("finds the region's MPI library from a host's environment", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidewheel-environment-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const python = await layEnvironment(PYTHON, join(folder, 'python'), join(folder, 'kept'));
  const script = 'from mpi4py import MPI; print(MPI.COMM_WORLD.Get_size())';
  const { stdout } = await run(python, ['-c', script], { env: {} });
  expect(stdout.trim()).toBe('1');
  // An installation there must not reach the environment below.
  expect((await lstat(join(folder, 'python/lib/mpich'))).isSymbolicLink()).toBe(false);
});
