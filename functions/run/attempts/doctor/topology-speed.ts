/** How fast each topology of a run trained: attempts on the same nodes count together. */

import { list, seconds } from '@tidewheel/kit/fields.ts';
import type { Placement } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import type { AttemptRecord } from '../../../records/run-records.ts';

export const topologySpeedSchema = z.object({
  topology: z.string().describe('Such as 2 x g5.xlarge.'),
  attempts: list(z.number().int()),
  /** Mean over the measured time; absent where no loader tells samples. */
  samplesPerSecond: z.number().optional(),
  samplesPerDollar: z.number().optional(),
  /** Of the longest measured attempt. */
  stepSeconds: z.object({ median: seconds, p95: seconds }),
  seconds: seconds.describe('Measured time of all its attempts.'),
});
type TopologySpeed = z.output<typeof topologySpeedSchema>;

export const nameOfTopology = ({ pool, topology }: Pick<Placement, 'pool' | 'topology'>): string =>
  [
    `${topology.nodes} x ${pool.instanceType}`,
    ...(topology.helpers ?? []).map(({ nodes, instanceType }) => `${nodes} x ${instanceType} as helpers`),
  ].join(' + ');

export function speedsOf(attempts: readonly AttemptRecord[]): readonly TopologySpeed[] {
  const measured = attempts.flatMap(({ attempt, placement, diagnosis }) =>
    diagnosis?.speed === undefined
      ? []
      : [{ attempt, topology: nameOfTopology(placement), ...diagnosis.speed }],
  );
  return [...Map.groupBy(measured, ({ topology }) => topology)].flatMap(([topology, all]) => {
    const [longest] = all.toSorted((a, b) => b.seconds - a.seconds);
    if (longest === undefined) return [];
    const seconds = all.reduce((sum, each) => sum + each.seconds, 0);
    const mean = (of: (each: (typeof all)[number]) => number | undefined): number | undefined => {
      const known = all.map((each) => ({ value: of(each), seconds: each.seconds }));
      if (known.some(({ value }) => value === undefined)) return undefined;
      return known.reduce((sum, each) => sum + (each.value ?? 0) * each.seconds, 0) / seconds;
    };
    return [
      {
        topology,
        attempts: all.map(({ attempt }) => attempt),
        samplesPerSecond: mean(({ samplesPerSecond }) => samplesPerSecond),
        samplesPerDollar: mean(({ samplesPerDollar }) => samplesPerDollar),
        stepSeconds: longest.stepSeconds,
        seconds,
      },
    ];
  });
}
