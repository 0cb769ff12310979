/**
 * Runs of a region whose account has reserved capacity, on one virtual clock: each trains on it at no price, leaves before
 * its end, and is done elsewhere. One is on a training plan, one on a Capacity Block.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Played, playCampaigns } from '../../bench/campaign/campaign.ts';
import { type Campaign, POOLS } from '../../bench/campaign/campaign-case.ts';
import { PYTHON } from '../support/region.ts';

const HOUR = 3_600;
const UNTIL_HOURS = 1.5;
const ALWAYS = Array.from({ length: 24 * 6 + 1 }, () => true);

const beside = (name: string, id: string, place: number): Campaign => {
  const { instanceType = '', zoneIds = [] } = POOLS[place] ?? {};
  return {
    name,
    instanceType,
    zones: zoneIds.map((zoneId) => ({ zoneId, available: ALWAYS })),
    tickSeconds: 600,
    workSeconds: 1.5 * HOUR,
    deadlineHours: 24,
    startSeconds: 300,
    reserved: { id, fromHours: -1, untilHours: UNTIL_HOURS },
  };
};
const CAMPAIGNS = [
  beside('planned', 'arn:aws:sagemaker:us-east-1:000000000000:training-plan/team-a', 0),
  beside('blocked', 'cr-0123456789abcdef0', 2),
];

let folder: string;
let played: readonly Played[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidewheel-reserved-'));
  played = await playCampaigns(CAMPAIGNS, {
    stateDirectory: folder,
    pythonPath: PYTHON,
    log: () => undefined,
  });
}, 600_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe.each(CAMPAIGNS)('the run of $name', ({ name, reserved, workSeconds }) => {
  const reportOf = () => {
    const report = played.find(({ campaign }) => campaign.name === name)?.report;
    if (report === undefined) throw new Error(`${name} has no report`);
    return report;
  };

  it('succeeds, with every step counted once', () => {
    expect(reportOf()).toMatchObject({ status: 'succeeded', deadline: { met: true } });
    expect(reportOf().attempts.at(-1)?.toStep).toBe(workSeconds);
  });

  it('trains on what is reserved first, at no price', () => {
    expect(reportOf().attempts[0]).toMatchObject({
      pool: { purchaseOption: 'reserved', reservation: reserved?.id },
      outcome: 'recalled',
      costUsd: 0,
    });
  });

  it('leaves before AWS takes its hosts', () => {
    const { attempts } = reportOf();
    const trained = (attempts[0]?.trainingSeconds ?? 0) / HOUR;
    expect(trained).toBeGreaterThan(UNTIL_HOURS - 0.5 - 0.3);
    expect(trained).toBeLessThan(UNTIL_HOURS - 0.5);
    expect(attempts[1]).toMatchObject({ pool: { purchaseOption: 'spot' }, fromStep: attempts[0]?.toStep });
  });
});
