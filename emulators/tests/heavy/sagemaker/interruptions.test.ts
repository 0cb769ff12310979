/** A few of the seeds of `npm run test:interruptions`, which runs hundreds. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';
import { type Reference, survive, undisturbed } from '../../interruptions/campaign.ts';
import { interruptionOf } from '../../interruptions/plan.ts';
import { provide } from '../../interruptions/training.ts';

const LIMIT_SECONDS = 600;
/** The host that saves is killed while it does. */
const SEEDS = [4];

const emulator = emulatorOfSuite();
let ground: Ground;
let reference: Reference;
const folder = folderOfSuite('interruptions');

beforeAll(async () => {
  ground = await layGround(emulator.url, {}, LIMIT_SECONDS);
  await provide(ground, folder);
  reference = await undisturbed(ground);
}, LIMIT_SECONDS * 1_000);

afterAll(async () => {
  await ground.close();
});

it(
  'a kill during a save changes no weights',
  async () => {
    const { struck, problems } = await survive(ground, SEEDS.map(interruptionOf), reference);
    expect(struck.map(({ interruption, wasStruck }) => [interruption.fault, wasStruck])).toEqual([
      ['killHost', true],
    ]);
    expect(struck.flatMap((one) => one.problems)).toEqual([]);
    expect(problems).toEqual([]);
  },
  LIMIT_SECONDS * 1_000,
);
