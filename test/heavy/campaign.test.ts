/**
 * Campaigns of 24 hours through the real state machine, the real Lambdas and the emulator, with a training script that
 * counts, on one virtual clock: what they cost is what the simulator says of the same trace, to 5 %.
 * One by default; TIDEWHEEL_CAMPAIGNS=1,2,3 plays others (seeds of traces drawn from the fitted chain), and
 * TIDEWHEEL_CAMPAIGN_ZONES=3 lets each run in three zones of other prices.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Played, playCampaigns } from '../../bench/campaign/campaign.ts';
import {
  campaignIn,
  drawnCase,
  POOLS,
  SEVERAL_ZONES,
  simulated,
} from '../../bench/campaign/campaign-case.ts';
import { PROJECT_FOLDER, PYTHON } from '../support/region.ts';

const seeds = (process.env['TIDEWHEEL_CAMPAIGNS'] ?? '4').split(',').map(Number);
const ZONES = Number(process.env['TIDEWHEEL_CAMPAIGN_ZONES'] ?? 1);
const JOB = { workHours: 16, deadlineHours: 24, startSeconds: 300 };
const TOLERANCE = 0.05;

const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

describe.each(seeds)('the campaign of seed %i', (seed) => {
  let played: Played | undefined;
  const campaign = campaignIn(
    drawnCase(seed, JOB, ZONES),
    (ZONES > 1 ? undefined : POOLS[0]) ?? SEVERAL_ZONES,
  );

  beforeAll(async () => {
    const stateDirectory = await mkdtemp(join(tmpdir(), 'tidewheel-campaign-'));
    folders.push(stateDirectory);
    [played] = await playCampaigns([campaign], { stateDirectory, pythonPath: PYTHON, log: () => undefined });
  }, 600_000);

  it('succeeds before its deadline, with every step counted once', () => {
    expect(played?.report).toMatchObject({ status: 'succeeded', deadline: { met: true } });
    const attempts = (played?.report.attempts ?? []).filter(({ trainingSeconds }) => trainingSeconds > 0);
    // Each goes on where the one before it ended, and the last ends with all of them.
    expect(attempts.map(({ fromStep }) => fromStep)).toEqual([
      0,
      ...attempts.slice(0, -1).map(({ toStep }) => toStep),
    ]);
    expect(attempts.at(-1)?.toStep).toBe(campaign.workSeconds);
  });

  it('costs what the simulator says, to 5 %', () => {
    const ratio = (played?.report.costUsd ?? 0) / simulated(campaign).costUsd;
    expect(Math.abs(ratio - 1)).toBeLessThan(TOLERANCE);
  });

  it('paid for work and starts alone', () => {
    const ran = (played?.report.attempts ?? []).filter(({ trainingSeconds }) => trainingSeconds > 0);
    const seconds = ran.reduce((sum, { trainingSeconds }) => sum + trainingSeconds, 0);
    const expected = campaign.workSeconds + ran.length * campaign.startSeconds;
    // SageMaker bills whole seconds, the script counts whole steps of one.
    expect(Math.abs(seconds - expected)).toBeLessThanOrEqual(2 * ran.length);
    // Each interruption was announced before it came, so the script saved what it had counted.
    expect(played?.report.lostSeconds).toBeLessThanOrEqual(ran.length);
  });

  it('ran on Spot only with capacity', () => {
    const { report, startedMs = 0 } = played ?? {};
    const tickMs = campaign.tickSeconds * 1_000;
    const spot = (report?.attempts ?? []).filter(
      ({ pool, trainingSeconds }) => pool.purchaseOption === 'spot' && trainingSeconds > 0,
    );
    expect(spot.length).toBeGreaterThan(0);
    for (const { attempt, trainingSeconds, pool } of spot) {
      const ended = report?.timeline.find(({ id }) => id === `ended-${attempt}`)?.at ?? '';
      const endMs = Date.parse(ended) - startedMs;
      // Billed seconds are rounded up, and the loss is seen at the tick that begins without capacity.
      const first = Math.floor((endMs - (trainingSeconds - 1) * 1_000) / tickMs);
      const last = Math.ceil(endMs / tickMs) - 1;
      const zone = campaign.zones.find(({ zoneId }) => zoneId === pool.zoneId);
      expect(zone?.available.slice(first, last + 1)).not.toContain(false);
    }
  });
});

/** Processes that keep their files there. */
async function processesOf(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (environment.includes(`TMPDIR=${folder}`)) found.push(pid);
  }
  return found;
}

it('ends by a signal, leaving nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidewheel-ended-'));
  folders.push(folder);
  const child = spawn(process.execPath, [join(PROJECT_FOLDER, 'bench/campaign/main.ts'), '--seeds', '1'], {
    env: { ...process.env, TMPDIR: folder, TIDEWHEEL_PYTHON: PYTHON },
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  // Itself and the emulator.
  while ((await processesOf(folder)).length < 2 && child.exitCode === null) await sleep(50);
  child.kill('SIGTERM');
  expect(await ended).toBe(143);
  expect(await readdir(folder)).toEqual([]);
  expect(await processesOf(folder)).toEqual([]);
}, 60_000);
