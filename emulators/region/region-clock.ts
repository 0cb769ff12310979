/** The clock of a whole region: with a virtual one, also its file, the programs that sleep on it, the emulator that follows it. */
import { join } from 'node:path';
import type { EmulatorOptions } from '../aws/ministack.ts';
import { type LocalClock, wallClock } from '../clock/clock.ts';
import { startSleepers } from '../clock/sleepers.ts';
import { emulatorFollower, VirtualClock } from '../clock/virtual-clock.ts';
import type { LocalEc2Options } from '../ec2/local-ec2.ts';
import type { LocalSageMakerOptions } from '../sagemaker/model/options.ts';

export interface RegionClock {
  readonly clock: LocalClock;
  /** Undefined where the region goes by the wall's. */
  readonly virtual: VirtualClock | undefined;
  readonly emulator: Pick<EmulatorOptions, 'clockFile' | 'saveSeconds'>;
  /** Of the servers that run hosts. */
  readonly hosts: Pick<LocalSageMakerOptions & LocalEc2Options, 'clock' | 'sleepers' | 'hostEnvironment'>;
  followEmulator(url: string): void;
  /** Looks before each move, once the emulator has settled. */
  follow(name: string, look: () => Promise<void>): void;
  /** It stands from now on: what follows it may go. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

const onTheWall: RegionClock = {
  clock: wallClock,
  virtual: undefined,
  emulator: {},
  hosts: { clock: wallClock },
  followEmulator: () => undefined,
  follow: () => undefined,
  stop: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** A virtual clock begins at the full second of now, and stands until it is started. */
export async function startRegionClock(options: {
  readonly isClockVirtual?: boolean;
  readonly stateDirectory: string;
  readonly log: (line: string) => void;
}): Promise<RegionClock> {
  const { isClockVirtual = false, stateDirectory, log } = options;
  if (!isClockVirtual) return onTheWall;
  const file = join(stateDirectory, 'clock');
  const clock = new VirtualClock({ file, startMs: Math.floor(Date.now() / 1_000) * 1_000, log });
  const sleepers = await startSleepers({ clock, file });
  const hostEnvironment = { PYTHONPATH: join(import.meta.dirname, '../clock/python') };
  return {
    clock,
    virtual: clock,
    // Saved at the end only: a campaign is never resumed in the middle.
    emulator: { clockFile: file, saveSeconds: 0 },
    hosts: { clock, sleepers, hostEnvironment },
    followEmulator: (url) => clock.follow(emulatorFollower(url, log)),
    follow: (name, look) =>
      clock.follow({
        name,
        settle: async () => {
          await look();
          return undefined;
        },
      }),
    stop: () => clock.stop(),
    close: async () => {
      await sleepers.close();
      await clock.close();
    },
  };
}
