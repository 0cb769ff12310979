/**
 * npm run sim -- --traces DIR: replays policies on traces of Spot capacity beside the clairvoyant optimum.
 * Costs are of the whole gang at the window's prices; several zones are billed honestly, a move is a new start.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { cutWindows } from './default-windows.ts';
import { chosenPolicies, POLICY_NAMES } from './policies.ts';
import { drawTimeline, type Row, summarise } from './rate.ts';
import { openWindow, readWindows, type Window } from './windows.ts';
import { simulate } from './world.ts';

const HELP = `npm run sim -- --traces DIR [options]
  --windows FILE      replay exactly these windows (a JSON array, see docs/placement.md); else windows are cut:
  --work 48           hours of work          --deadline 52,70   hours     --restart 0.05,0.2   hours
  --on-demand 3.06    USD an hour            --spot 0.9731                --nodes 1   instances at once
  --every 24          hours between windows  --multi-zone       all zones of a folder together
  --policies LIST     of ${POLICY_NAMES.join(', ')}
  --json OUT          every run with its decisions
  --timeline ID       draw the runs of one window
  --threads N         default: one a core`;

const { values } = parseArgs({
  options: {
    traces: { type: 'string' },
    windows: { type: 'string' },
    work: { type: 'string', default: '48' },
    deadline: { type: 'string', default: '52,70' },
    restart: { type: 'string', default: '0.05,0.2' },
    'on-demand': { type: 'string', default: '3.06' },
    spot: { type: 'string', default: '0.9731' },
    nodes: { type: 'string', default: '1' },
    every: { type: 'string', default: '24' },
    'multi-zone': { type: 'boolean', default: false },
    policies: { type: 'string', default: POLICY_NAMES.join(',') },
    json: { type: 'string' },
    timeline: { type: 'string' },
    threads: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help || values.traces === undefined) {
  console.log(HELP);
  process.exit(values.help ? 0 : 2);
}
const folder = values.traces;
const policies = values.policies.split(',');
const numbers = (list: string): number[] => list.split(',').map(Number);

const windows = values.windows
  ? readWindows(values.windows)
  : cutWindows(folder, {
      workHours: Number(values.work),
      deadlineHours: numbers(values.deadline),
      restartHours: numbers(values.restart),
      onDemandPrice: Number(values['on-demand']),
      spotPrice: Number(values.spot),
      nodes: Number(values.nodes),
      everyHours: Number(values.every),
      multiZone: values['multi-zone'],
    });
if (windows.length === 0) {
  console.error(`no trace under ${folder} is long enough for such a window: give a shorter --deadline`);
  process.exit(2);
}

if (values.timeline !== undefined) showTimeline(values.timeline);
else await rateAll();

function showTimeline(id: string): void {
  const window = windows.find((each) => String(each.id) === id);
  if (!window) {
    console.error(
      `there is no window "${id}"; the first ones are ${windows
        .slice(0, 5)
        .map((each) => each.id)
        .join(', ')}`,
    );
    process.exit(2);
  }
  const opened = openWindow(folder, window);
  for (const strategy of chosenPolicies(policies)) {
    const outcome = simulate(strategy, opened.setting, opened.zones);
    const end = (outcome.finishSeconds / 3_600).toFixed(1);
    console.log(
      `\n${strategy.name}: $${outcome.costUsd.toFixed(2)}, ${outcome.starts} starts, ends after ${end} h of ${window.deadlineHours}`,
    );
    console.log(drawTimeline(opened, outcome));
  }
}

async function rateAll(): Promise<void> {
  const started = performance.now();
  const threads = Math.min(Number(values.threads ?? availableParallelism()), windows.length);
  const rows = (await Promise.all(sharesOf(windows, threads).map(rateShare))).flat();
  const deadlines = new Map(windows.map((window) => [window.id, window.deadlineHours]));
  console.log(
    `${windows.length} windows, ${policies.length} policies, ${((performance.now() - started) / 1_000).toFixed(1)} s`,
  );
  console.log(
    `${'policy'.padEnd(18)}${['mean $', 'ratio', 'median', 'p95', 'worst', 'late'].map((head) => head.padStart(10)).join('')}`,
  );
  for (const policy of policies) {
    const { meanUsd, mean, median, p95, worst, late } = summarise(policy, rows, deadlines);
    const cells = [
      meanUsd.toFixed(2),
      mean.toFixed(4),
      median.toFixed(4),
      p95.toFixed(4),
      worst.toFixed(3),
      String(late),
    ];
    console.log(`${policy.padEnd(18)}${cells.map((cell) => cell.padStart(10)).join('')}`);
  }
  const hopeless = new Set(rows.filter((row) => row.optimumUsd === null).map((row) => row.id)).size;
  if (hopeless > 0) console.log(`${hopeless} windows that no schedule can meet are left out of the figures`);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows)}\n`);
}

/** Windows with the same job go to the same thread, so that each plan is made once. */
function sharesOf(all: readonly Window[], threads: number): Window[][] {
  const key = ({ zones, deadlineHours, restartHours, workHours, onDemandPrice }: Window): string =>
    JSON.stringify([
      zones.length,
      deadlineHours,
      restartHours,
      workHours,
      onDemandPrice,
      zones[0]?.spotPrice,
    ]);
  const sorted = all.toSorted((a, b) => key(a).localeCompare(key(b)));
  const size = Math.ceil(sorted.length / threads);
  return Array.from({ length: threads }, (_, k) => sorted.slice(k * size, (k + 1) * size));
}

function rateShare(share: readonly Window[]): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: { folder, policies, windows: share },
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
