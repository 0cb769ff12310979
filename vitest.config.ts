import { defineConfig } from 'vitest/config';

/**
 * One project per kind of test. `unit` touches no network and no child process. Its files share modules, because loading
 * them again for each file took a third of its CPU. So an environment variable that a unit test sets has to end with it.
 * A worker for each core, since the process that transforms the sources has little to do beside them.
 */
const project = (
  name: string,
  timeoutMs: number,
  more: { isolate?: false; unstubEnvs?: true; fileParallelism?: false; maxWorkers?: number } = {},
) => ({
  test: {
    name,
    include: [
      `test/${name}/**/*.test.ts`,
      `emulators/tests/${name}/**/*.test.ts`,
      ...(name === 'unit' ? ['packages/*/tests/**/*.test.ts', 'test/zoo/**/*.test.ts'] : []),
    ],
    testTimeout: timeoutMs,
    hookTimeout: Math.max(timeoutMs, 10_000),
    maxWorkers: '100%',
    ...more,
  },
});

export default defineConfig({
  test: {
    projects: [
      project('unit', 10_000, { isolate: false, unstubEnvs: true }),
      project('contract', 60_000),
      project('integration', 120_000, { fileParallelism: false }),
      // A file of these has a region of its own and waits for most of its time.
      project('e2e', 600_000, { maxWorkers: 2 }),
      project('heavy', 600_000, { fileParallelism: false }),
    ],
  },
});
