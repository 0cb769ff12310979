/** What every store of the market's history does. */
import { expect, it } from 'vitest';
import type { Stores } from '../../../../functions/records/stores.ts';
import { AT, secondsAfter } from '../../builders/records.ts';

const LATER = secondsAfter(60);

export function marketHistoryContract(
  open: () => Promise<
    Pick<Stores, 'marketSamples' | 'poolOutcomes' | 'scoreQuestions' | 'listPrices' | 'hardware'>
  >,
): void {
  const sample = { family: 'g5', zoneId: 'use1-az4', spotUsd: { 'g5.xlarge': 0.4 } };
  const look = (at: string, scores: Record<string, number>) => ({
    ...sample,
    at,
    readAt: at,
    scores,
    onDemandUsd: {},
  });

  it("keeps a step's newest sample by family and zone", async () => {
    const { marketSamples } = await open();
    await marketSamples.put(look(LATER, { '2 x g5.xlarge': 7 }));
    await marketSamples.put(look(AT, { '2 x g5.xlarge': 3 }));
    await marketSamples.put(look(LATER, { '2 x g5.xlarge': 8 }));
    expect(await marketSamples.list('g5', 'use1-az4', AT)).toEqual([
      look(AT, { '2 x g5.xlarge': 3 }),
      look(LATER, { '2 x g5.xlarge': 8 }),
    ]);
    expect(await marketSamples.list('g5', 'use1-az4', secondsAfter(1))).toHaveLength(1);
    expect(await marketSamples.list('g5', 'use1-az1', AT)).toEqual([]);
    expect([await marketSamples.zones('g5'), await marketSamples.zones('p9')]).toEqual([['use1-az4'], []]);
  });

  it("keeps an attempt's outcome once, by family and time", async () => {
    const { poolOutcomes } = await open();
    const met = {
      runId: 'met-000001',
      attempt: 1,
      instanceType: 'p9x.large',
      launcher: 'sagemaker',
      purchaseOption: 'spot',
      nodes: 2,
      requestedAt: AT,
      endedAt: LATER,
      end: 'capacityError',
    } as const;
    await poolOutcomes.put(met);
    await poolOutcomes.put(met);
    await poolOutcomes.put({ ...met, instanceType: 'p9.large', attempt: 2 });
    expect(await poolOutcomes.list('p9x', AT)).toEqual([met]);
    expect(await poolOutcomes.list('p9x', secondsAfter(61))).toEqual([]);
  });

  it('keeps the last list prices of a region', async () => {
    const { listPrices } = await open();
    const prices = [{ instanceType: 'g5.xlarge', hourlyUsd: 1.41, effective: '2026-11-01', readAt: AT }];
    const nothing = {
      region: 'us-east-1',
      at: AT,
      requested: [],
      requestedTo: [],
      prices: [],
      ec2: [],
      transfer: [],
    };
    expect(await listPrices.get('us-east-1')).toBeUndefined();
    await listPrices.put({ ...nothing, requested: ['g5.xlarge'] });
    const last = { ...nothing, at: LATER, requested: ['g5.xlarge', 'p9.large'], prices };
    await listPrices.put(last);
    expect(await listPrices.get('us-east-1')).toEqual(last);
    expect(await listPrices.get('us-west-2')).toBeUndefined();
  });

  it('keeps the hardware that was last read', async () => {
    const { hardware } = await open();
    expect(await hardware.get()).toBeUndefined();
    const facts = {
      type: 'g9.xlarge',
      vcpu: 4,
      memoryGib: 16,
      accelerator: 'B400',
      acceleratorCount: 1,
      networkBaselineGbps: 2.5,
      networkBurstGbps: 10,
      efa: false,
      nvmeGb: 0,
      arch: 'x86_64',
    };
    const first = { region: 'us-east-1', at: AT, requested: ['g9.xlarge'], facts: [], refused: [] };
    await hardware.put(first);
    const last = { ...first, at: LATER, facts: [{ facts, readAt: LATER }] };
    await hardware.put(last);
    expect(await hardware.get()).toEqual(last);
  });

  it('keeps the last time of a question', async () => {
    const { scoreQuestions } = await open();
    await scoreQuestions.put({ key: '1 x a b c', at: AT });
    await scoreQuestions.put({ key: '1 x a b c', at: LATER });
    await scoreQuestions.put({ key: '2 x a b c', at: AT });
    expect(await scoreQuestions.list(secondsAfter(1))).toEqual([{ key: '1 x a b c', at: LATER }]);
  });
}
