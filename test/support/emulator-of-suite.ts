/** An emulator that goes with the tests of a file. */
import { beforeAll } from 'vitest';
import { startTestEmulator, type TestEmulator } from './emulator.ts';

/** At the top of a file: it is up before what the file prepares, and stops after all else. */
export function emulatorOfSuite(
  options?: Parameters<typeof startTestEmulator>[0],
): Pick<TestEmulator, 'url'> {
  let running: TestEmulator | undefined;
  beforeAll(async () => {
    const started = await startTestEmulator(options);
    running = started;
    // Behind every afterAll, and behind what later hooks leave in the same way.
    return () => started.stop();
  });
  return {
    get url() {
      if (running === undefined) throw new Error('the emulator of this file is not up yet');
      return running.url;
    },
  };
}
