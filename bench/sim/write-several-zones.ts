/**
 * The 360 windows of several zones that docs/research/simulator.md describes, for `npm run bench:sim -- --windows`:
 * node bench/sim/write-several-zones.ts > several-zones.json
 * Traces are those of February 2023, each cut into two stretches, `<zone>_v100_1.a.json` and `.b.json`; the same zones in another
 * order are a set of their own, since ties go to the first.
 */
const FOLDER = 'availability/1-node/aws-02-15-2023';
const TICKS = 900;

/** USD an hour of a zone's Spot capacity; 3.06 on demand. */
const SPOT_USD = {
  'us-east-1a': 1.6,
  'us-east-1c': 1.3,
  'us-east-1d': 1.25,
  'us-east-1f': 1.28,
  'us-east-2a': 0.93,
  'us-east-2b': 0.92,
  'us-west-2a': 0.96,
  'us-west-2b': 0.96,
  'us-west-2c': 0.95,
} as const;
type Zone = keyof typeof SPOT_USD;

const SETS: Readonly<Record<string, readonly Zone[]>> = {
  '2zs': ['us-east-1a', 'us-east-1c'],
  '2ew': ['us-east-2a', 'us-west-2a'],
  '3div': ['us-east-1a', 'us-east-2b', 'us-west-2c'],
  '3same': ['us-east-1a', 'us-east-1c', 'us-east-1d'],
  '5div': ['us-east-1a', 'us-east-1f', 'us-west-2a', 'us-west-2b', 'us-east-2b'],
  all9: [
    'us-east-2a',
    'us-west-2c',
    'us-east-1d',
    'us-east-2b',
    'us-west-2a',
    'us-east-1f',
    'us-east-1a',
    'us-west-2b',
    'us-east-1c',
  ],
  '2w': ['us-west-2a', 'us-west-2b'],
  '3w': ['us-west-2a', 'us-west-2b', 'us-west-2c'],
  '2we': ['us-west-2a', 'us-east-2a'],
  '5m': ['us-west-2a', 'us-west-2b', 'us-west-2c', 'us-east-2a', 'us-east-2b'],
};

const STARTS = { '.a': [0, 600, 1_200, 1_800, 2_400], '.b': [0, 650, 1_300, 1_950] } as const;

const windows = Object.entries(SETS).flatMap(([set, zones]) =>
  Object.entries(STARTS).flatMap(([stretch, starts]) =>
    starts.flatMap((startTick) =>
      [36, 48].flatMap((deadlineHours) =>
        [0.05, 0.2].map((restartHours) => ({
          id: `multi/${set}/${stretch}/${startTick}/${deadlineHours}/${restartHours}`,
          zones: zones.map((zone) => ({
            trace: `${FOLDER}/${zone}_v100_1${stretch}.json`,
            startTick,
            spotPrice: SPOT_USD[zone],
          })),
          ticks: TICKS,
          onDemandPrice: 3.06,
          nodes: 1,
          workHours: 24,
          deadlineHours,
          restartHours,
        })),
      ),
    ),
  ),
);
process.stdout.write(`${JSON.stringify(windows)}\n`);
