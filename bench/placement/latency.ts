/** How long one placement takes with 300 pools and a month of history: node bench/placement/latency.ts */
import { catalogTypes } from '../../functions/core/catalog/catalog.ts';
import { trainingType } from '../../functions/core/catalog/types/training-types.ts';
import { trainingSchema } from '../../functions/core/pipeline/training.ts';
import { choosePlacement } from '../../functions/core/placement/decision/choose.ts';
import type { PlacementInput } from '../../functions/core/placement/decision/situation.ts';

const TYPES = 30;
const ZONES = 5;
const OBSERVATIONS = 30 * 24;
const closedAt = '2026-11-01T00:00:00.000Z';
const at = (hours: number): string => new Date(Date.parse(closedAt) + hours * 3_600_000).toISOString();
/** All of one pace to the model or of many: `node bench/placement/latency.ts mixed` */
const types = catalogTypes()
  .filter((type) => trainingType(type)?.device === (process.argv[2] === 'mixed' ? 'gpu' : 'cpu'))
  .slice(0, TYPES);
const zones = Array.from({ length: ZONES }, (_, k) => `use1-az${k + 1}`);

const input = (turn: number): PlacementInput => ({
  compute: {
    instanceTypes: types,
    nodes: 4,
    purchaseOption: 'spot-then-on-demand',
    volumeGigabytes: 30,
    vpc: {
      securityGroupIds: ['sg-1'],
      subnets: zones.map((zoneId) => ({ id: `subnet-${zoneId.replaceAll('-', '')}`, zoneId })),
    },
  },
  training: trainingSchema.parse({ strategy: 'ddp' }),
  limits: { deadlineHours: 70, maximumRunSeconds: 86_400 * 3, attempts: 50 },
  market: {
    region: 'us-east-1',
    scores: zones.map((zoneId, k) => ({ zoneId, score: 1 + ((k + turn) % 10) })),
    spotPrices: types.flatMap((instanceType, k) =>
      zones.map((zoneId, j) => ({
        instanceType,
        zoneId,
        hourlyUsd: 0.3 + 0.01 * k + 0.003 * j,
        basis: 'quoted' as const,
      })),
    ),
    onDemandPrices: types.map((instanceType, k) => ({
      instanceType,
      hourlyUsd: 1.2 + 0.02 * k,
      basis: 'listed' as const,
      note: '',
      ec2HourlyUsd: 1 + 0.02 * k,
    })),
    zones: [],
    notes: [],
  },
  closedAt,
  now: at(1 + turn * 0.01),
  attempts: [],
  expectedSeconds: 48 * 3_600,
  observations: Array.from({ length: OBSERVATIONS }, (_, k) => ({
    atMilliseconds: Date.parse(closedAt) - (OBSERVATIONS - k) * 3_600_000,
    instanceType: types[k % TYPES] ?? '',
    zoneId: zones[k % ZONES],
    launcher: 'sagemaker',
    purchaseOption: 'spot' as const,
    seen: (['up', 'lost', 'capacityError'] as const)[k % 3] ?? 'up',
  })),
});

const TURNS = 30;
const spent: number[] = [];
for (let turn = 0; turn < TURNS; turn += 1) {
  const before = process.cpuUsage();
  const decision = choosePlacement(input(turn));
  const { user, system } = process.cpuUsage(before);
  spent.push((user + system) / 1_000);
  if (turn === 0)
    console.log(`first decision: ${decision.kind}, ${(spent[0] ?? 0).toFixed(1)} ms of CPU, nothing warm`);
}
const warm = spent.slice(5).toSorted((a, b) => a - b);
const median = warm[Math.floor(warm.length / 2)] ?? 0;
console.log(
  `${TYPES * ZONES * 2} pools, ${OBSERVATIONS} observations over 30 days: median ${median.toFixed(1)} ms, worst ${(warm.at(-1) ?? 0).toFixed(1)} ms of CPU`,
);
