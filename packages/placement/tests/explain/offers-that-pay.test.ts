/** An offer of AWS is named where its price pays, and it holds all of the work before the deadline. */
import { describe, expect, it } from 'vitest';
import {
  hoursLater,
  market,
  onDemand,
  question,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import { offersThatPay } from '../../explain/offers-that-pay.ts';
import { decide } from '../../futures/forecast.ts';
import type { CapacityOffer, MarketAnswer, OfferQuestion } from '../../records/market-history.ts';

const offer = (change: Partial<CapacityOffer> = {}): CapacityOffer => ({
  id: 'tpo-1',
  kind: 'training-plan',
  instanceType: 'g5.xlarge',
  instances: 2,
  zone: 'us-east-11',
  windows: [{ startsAt: hoursLater(3), endsAt: hoursLater(27) }],
  upfrontUsd: 2,
  ...change,
});
const between = (from: number, to: number) => ({
  windows: [{ startsAt: hoursLater(from), endsAt: hoursLater(to) }],
});

const costing = (expected = 5) => ({ usd: { low: 0, expected, high: 2 * expected } });

async function asked(
  offers: readonly CapacityOffer[],
  { usd, ...change }: Partial<PlacementInput> & { readonly usd?: number } = {},
) {
  const questions: OfferQuestion[] = [];
  const lines = await offersThatPay(
    (each) => {
      questions.push(each);
      const value = offers.filter(({ instanceType }) => instanceType === each.instanceType);
      return Promise.resolve({ kind: 'known', value, notes: [] } satisfies MarketAnswer<
        readonly CapacityOffer[]
      >);
    },
    question(change),
    costing(usd),
  );
  return { questions, lines };
}
const linesOf = async (...given: Parameters<typeof asked>) => (await asked(...given)).lines;

const CPUS: Partial<PlacementInput> = {
  compute: { ...question().compute, instanceTypes: ['c5.xlarge'] },
  market: market({ onDemandPrices: [onDemand('c5.xlarge', 0.2)], spotPrices: [] }),
};

describe('a question', () => {
  it('names each gang once, for whole days', async () => {
    const { questions } = await asked([]);
    expect(questions.map(({ instanceType }) => instanceType)).toEqual(['g5.xlarge', 'g6.xlarge']);
    expect(questions[0]).toMatchObject({ kind: 'training-plan', instances: 2, hours: 24 });
    const latest = Date.parse(hoursLater(24)) + 24 * 3_600_000;
    expect(questions[0]?.endsBefore.getTime()).toBeLessThan(latest - 6 * 3_600_000);
    expect(questions[0]?.endsBefore.getTime()).toBeGreaterThan(latest - 8 * 3_600_000);
  });

  it('names a size and a length that AWS offers', async () => {
    const { compute } = question();
    const limits = { deadlineHours: 1_000, maximumRunSeconds: 1_000 * 3_600, attempts: 50 };
    const { questions } = await asked([], {
      compute: { ...compute, nodes: 3 },
      limits,
      expectedSeconds: 15 * 86_400,
    });
    expect(questions[0]).toMatchObject({ instances: 4, hours: 16 * 24 });
  });

  it.each([
    ['what costs nothing', { usd: 0 }],
    ['CPUs', CPUS],
    ['work that no offer holds in time', { expectedSeconds: 23.5 * 3_600 }],
  ])('is not put for %s', async (_, change) => {
    expect((await asked([], change)).questions).toEqual([]);
  });
});

describe('an offer', () => {
  it('that pays is named with its price and command', async () => {
    const expected = decide(question(), 'seed');
    const usd = expected.kind === 'launch' ? (expected.expected?.usd.expected ?? 0) : 0;
    expect(usd).toBeGreaterThan(4);
    expect(await linesOf([offer()], { usd })).toEqual([
      `AWS offers 2 x g5.xlarge for 24.0 h from 2026-11-20 03:00 UTC at $2.00 paid at once; without it the run is expected to cost $${usd.toFixed(2)}. To buy it: aws sagemaker create-training-plan --region us-east-1 --training-plan-name NAME --training-plan-offering-id tpo-1, then add its ARN to compute.reserved. A run that has begun reads that when it is stopped and retried`,
    ]);
  });

  it('of EC2 is bought by its own command', async () => {
    const compute = { ...question().compute, launcher: 'ec2' as const, ec2: EC2 };
    const [line] = await linesOf([offer({ id: 'cb-1', kind: 'capacity-block' })], { compute });
    expect(line).toContain(
      'aws ec2 purchase-capacity-block --region us-east-1 --instance-platform Linux/UNIX --capacity-block-offering-id cb-1',
    );
  });

  it('of two is the cheaper one that holds the work', async () => {
    const lines = await linesOf([
      offer({ id: 'short', upfrontUsd: 1, ...between(3, 9) }),
      offer({ id: 'dear', upfrontUsd: 4 }),
      offer({ id: 'right', upfrontUsd: 3 }),
    ]);
    expect(lines).toEqual([expect.stringContaining('--training-plan-offering-id right')]);
  });

  it.each([
    ['costs as much as the run', offer({ upfrontUsd: 5 })],
    ['ends half an hour after the work', offer(between(3, 9.5))],
    ['begins too late for the deadline', offer(between(18, 42))],
    ['has too few instances', offer({ instances: 1 })],
    ['is in a zone without a subnet', offer({ zone: 'us-east-1f' })],
  ])('is not named that %s', async (_, each) => {
    expect(await linesOf([each])).toEqual([]);
  });

  it('does not pay because of a reservation in use', async () => {
    const own = { ...offer(between(0, 48)), zoneId: ZONES[0], availableInstances: 0, state: 'Active' };
    const given = { market: market({ reservations: [own] }) };
    expect(await linesOf([offer({ upfrontUsd: 1, ...between(3, 9) })], given)).toEqual([]);
  });
});

it('what AWS does not answer is a note, once', async () => {
  const failed = { kind: 'unknown', failure: 'notAuthorised', message: 'AccessDenied' } as const;
  expect(await offersThatPay(() => Promise.resolve(failed), question(), costing(5))).toEqual([
    'what AWS offers to reserve unknown (notAuthorised): AccessDenied',
  ]);
});

const EC2 = {
  image: 'ami-0123456789abcdef0',
  python: 'python3',
  rootDevice: '/dev/sda1',
  privateSubnets: false,
};
