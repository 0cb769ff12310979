import { defineConfig } from 'vitest/config';

/** One project per kind of test; `unit` touches no network and no child process. */
const project = (name: string, timeoutMs: number, fileParallelism = true) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`, `emulators/tests/${name}/**/*.test.ts`],
    testTimeout: timeoutMs,
    hookTimeout: Math.max(timeoutMs, 10_000),
    fileParallelism,
  },
});

export default defineConfig({
  test: {
    projects: [
      project('unit', 5_000),
      project('contract', 60_000),
      project('integration', 120_000, false),
      project('e2e', 600_000, false),
    ],
  },
});
