/** An emulator for one test file: a state folder and a port of its own, both gone when it is stopped. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { AccessKey } from '@tidewheel/emulators/access/access-key.ts';
import { type EmulatorOptions, startEmulator } from '@tidewheel/emulators/aws/ministack.ts';

export interface TestEmulator {
  readonly url: string;
  stop(): Promise<void>;
}

/** The project's own Python, or the one that TIDEWHEEL_PYTHON names. */
export function projectPython(): string {
  const own = path.join(import.meta.dirname, '../../.venv/bin/python');
  const python = process.env['TIDEWHEEL_PYTHON'] ?? own;
  if (!existsSync(python)) throw new Error(`no Python at ${python}: run "npm run setup" once`);
  return python;
}

/** The key of every emulator that a test starts. */
export const TEST_KEY: AccessKey = {
  accessKeyId: 'LOCALKEYOFTHETESTS00',
  secretAccessKey: 'only-emulators-of-tests-know-this-secret',
};

/** What an AWS client needs to talk to it. */
export const clientConfiguration = (url: string) => ({
  endpoint: url,
  region: 'us-east-1',
  credentials: TEST_KEY,
});

export async function startTestEmulator(
  options: Omit<Partial<EmulatorOptions>, 'stateDirectory'> = {},
): Promise<TestEmulator> {
  const stateDirectory = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-test-'));
  const emulator = await startEmulator({
    pythonPath: projectPython(),
    credentials: TEST_KEY,
    ...options,
    stateDirectory,
  }).catch(async (error: unknown) => {
    await rm(stateDirectory, { recursive: true, force: true });
    throw error;
  });
  return {
    url: emulator.url,
    stop: async () => {
      await emulator.stop();
      await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}
