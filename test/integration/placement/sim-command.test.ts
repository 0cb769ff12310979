import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Row } from '../../../bench/sim/rate.ts';
import type { Window } from '../../../bench/sim/windows.ts';
import { drawTrace, TICK_SECONDS } from '../../support/market/traces.ts';

const command = path.resolve('bench/sim/main.ts');
const TICKS = 260;
let folder: string;
const capacity = new Map<string, readonly number[]>();

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tidewheel-sim-'));
  for (const seed of [1, 2, 3]) {
    const up = drawTrace(seed, TICKS);
    const data = up.map((each, tick) => (each ? 1 + (tick % 3) : 0));
    const file = `${seed}.json`;
    capacity.set(file, data);
    writeFileSync(path.join(folder, file), JSON.stringify({ metadata: { gap_seconds: TICK_SECONDS }, data }));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const window = fc
  .record({
    seeds: fc.subarray([1, 2, 3], { minLength: 1 }),
    start: fc.integer({ min: 0, max: 100 }),
    prices: fc.tuple(fc.integer({ min: 5, max: 20 }), fc.integer({ min: 5, max: 35 })),
    nodes: fc.integer({ min: 1, max: 4 }),
    workHours: fc.constantFrom(1.5, 3, 10 / 3, 4.017),
    slackHours: fc.constantFrom(0.61, 1, 2.5),
    restartHours: fc.constantFrom(0, 0.033, 0.05, 0.2, 0.3),
  })
  .map(({ seeds, start, prices, workHours, slackHours, ...rest }) => ({
    zones: seeds.map((seed, k) => ({
      trace: `${seed}.json`,
      startTick: start + k,
      spotPrice: (prices[k % 2] ?? 9) / 10,
    })),
    ticks: 150,
    onDemandPrice: 3,
    workHours,
    deadlineHours: workHours + slackHours,
    ...rest,
  }));

/** What runs, where, and what it still owes. */
interface Run {
  runs: string;
  usd: number;
  starts: number;
  owed: number;
  left: number;
  finish: number;
}

const has = ({ zones, nodes }: Window, zone: number, tick: number): boolean => {
  const { trace = '', startTick = 0 } = zones[zone] ?? {};
  return (capacity.get(trace)?.[startTick + tick] ?? 0) >= nodes;
};

/** What the decisions come to, from nothing but the simulator's rules. */
function replay(window: Window, { actions, zoneIndex }: Row): Run {
  const run = { runs: 'I', usd: 0, starts: 0, owed: 0, left: window.workHours * 3_600, finish: 0 };
  const isGone = (what: string, tick: number): boolean =>
    what.startsWith('S') && !has(window, Number(what.slice(1)), tick);
  for (const [tick, action] of Array.from(actions).entries()) {
    const zone = zoneIndex[tick] ?? -1;
    if (run.left === 0 || isGone(`${action}${zone}`, tick))
      throw new Error(`tick ${tick} cannot be ${action}`);
    if (isGone(run.runs, tick)) run.runs = 'I';
    const now = action === 'I' ? 'I' : `${action}${zone}`;
    if (now !== 'I' && now !== run.runs) {
      run.owed = window.restartHours * 3_600;
      run.starts += 1;
    }
    run.runs = now;
    const hourlyUsd = { I: undefined, O: window.onDemandPrice, S: window.zones[zone]?.spotPrice }[action];
    if (hourlyUsd !== undefined) work(run, tick, hourlyUsd);
  }
  return run;
}

function work(run: Run, tick: number, hourlyUsd: number): void {
  const starting = Math.min(run.owed, TICK_SECONDS);
  const gain = Math.min(run.left, TICK_SECONDS - starting);
  run.usd += (hourlyUsd * TICK_SECONDS) / 3_600;
  run.finish = (tick * TICK_SECONDS + starting + gain) / 3_600;
  run.left = run.left - gain < 1e-6 ? 0 : run.left - gain;
  run.owed -= starting;
}

describe('npm run bench:sim -- --windows FILE --json OUT', () => {
  it('writes decisions that replay to equal results', () => {
    const windows = fc.sample(window, { numRuns: 40, seed: 5 }).map((each, id) => ({ id, ...each }));
    const [file, out] = [path.join(folder, 'windows.txt'), path.join(folder, 'out.txt')];
    writeFileSync(file, JSON.stringify(windows));
    execFileSync(process.execPath, [command, '--traces', folder, '--windows', file, '--json', out]);
    const rows = JSON.parse(readFileSync(out, 'utf8')) as Row[];
    expect(rows).toHaveLength(5 * windows.length);
    const late: Row[] = [];
    const cheaper: Row[] = [];
    for (const row of rows) {
      const of = windows[Number(row.id)];
      if (of === undefined) throw new Error(`no window has the id ${row.id}`);
      const { usd, starts, finish, left } = replay(of, row);
      expect(left).toBe(0);
      expect(row.costUsd).toBeCloseTo(usd, 9);
      expect(row.starts).toBe(starts);
      expect(row.finishHours).toBeCloseTo(finish, 6);
      if (finish > of.deadlineHours + 1e-9) late.push(row);
      else if ((row.optimumUsd ?? Number.NaN) > usd + 1e-9) cheaper.push(row);
    }
    expect(late.filter(({ policy }) => policy === 'tidewheel')).toEqual([]);
    expect(cheaper).toEqual([]);
  });

  it('names every wrong argument before replaying', () => {
    const nowhere = path.join(folder, 'none', 'out.json');
    const { status, stderr } = spawnSync(
      process.execPath,
      [command, '--traces', command, '--deadline', '0', '--json', nowhere],
      { encoding: 'utf8' },
    );
    expect(status).toBe(2);
    expect(stderr.match(/^✗ --\w+/gm)).toEqual(['✗ --traces', '✗ --deadline', '✗ --json']);
  });
});
