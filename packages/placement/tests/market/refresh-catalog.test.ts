/** What is read again once a day: prices by region, transfer between regions, hardware. */
import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { entry } from '../../../../test/support/builders/instance-type-entry.ts';
import { AT, declarationOf, secondsAfter } from '../../../../test/support/builders/records.ts';
import { fakeClock } from '../../../../test/support/fakes/clock.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import { refreshHardware, refreshPrices } from '../../market/refresh-catalog.ts';
import type { CatalogSource, MarketAnswer } from '../../records/market-history.ts';

const HOME = 'us-east-1';
const computeOf = (over: Readonly<Record<string, unknown>> = {}) =>
  declarationOf('p', { compute: { instanceTypes: ['g5.xlarge'], nodes: 2, ...over } }).compute;
const silent: MarketAnswer<never> = { kind: 'unknown', failure: 'throttled', message: 'slow down' };
const known = <T>(value: T): Promise<MarketAnswer<T>> => Promise.resolve({ kind: 'known', value, notes: [] });

let requested: string[];
let usd: number | undefined;
let entries: readonly unknown[] | undefined;
let notes: string[];
let deps: ReturnType<typeof depsOf>;

/** A type costs `usd` here, on EC2 a fifth less; a gigabyte two cents. */
const catalog: CatalogSource = {
  trainingPrices: (types, region) => {
    requested.push(`training ${region}: ${types.join(' ')}`);
    return usd === undefined
      ? Promise.resolve(silent)
      : known(types.map((instanceType) => ({ instanceType, hourlyUsd: usd ?? 0 })));
  },
  ec2Prices: (types) =>
    usd === undefined
      ? Promise.resolve(silent)
      : known(types.map((instanceType) => ({ instanceType, hourlyUsd: (usd ?? 0) / 1.25 }))),
  transferPrices: (from, others) => {
    requested.push(`transfer ${from}: ${others.join(' ')}`);
    return usd === undefined
      ? Promise.resolve(silent)
      : known(others.map((to) => ({ to, usdPerGigabyte: 0.021 })));
  },
  instanceTypes: (types) => {
    requested.push(`hardware of ${types.length}`);
    return entries === undefined ? Promise.resolve(silent) : known(entries);
  },
};

const depsOf = () => ({ ...memoryStores(), region: HOME, catalog, clock: fakeClock(AT) });

beforeEach(() => {
  [requested, notes, usd, entries] = [[], [], 1.4, []];
  deps = depsOf();
});

const prices = (...computes: ReturnType<typeof computeOf>[]) =>
  refreshPrices(deps, { computes, hardware: instanceFacts, notes });

describe('prices', () => {
  const kept = async (region = HOME) => (await deps.listPrices.get(region))?.prices[0];

  it('are read daily, at once for new types', async () => {
    await prices(computeOf());
    deps.clock.advance(3_600);
    await prices(computeOf());
    expect([requested.length, await kept()]).toEqual([
      2,
      { instanceType: 'g5.xlarge', hourlyUsd: 1.4, readAt: AT },
    ]);
    await prices(computeOf({ instanceTypes: ['g6.xlarge', 'g5.xlarge'] }));
    expect(requested).toHaveLength(4);
    deps.clock.advance(86_400);
    usd = undefined;
    await prices(computeOf());
    expect(await kept()).toEqual({ instanceType: 'g5.xlarge', hourlyUsd: 1.4, readAt: secondsAfter(3_600) });
    expect(notes.join()).toMatch(/list prices of us-east-1 unknown \(throttled\)/);
    usd = 1.2;
    await prices(computeOf());
    expect(await kept()).toMatchObject({ hourlyUsd: 1.2, readAt: secondsAfter(90_000) });
  });

  it('are requested again after a partial answer', async () => {
    deps = { ...deps, catalog: { ...catalog, ec2Prices: () => Promise.resolve(silent) } };
    await prices(computeOf());
    await prices(computeOf());
    expect(requested.filter((each) => each.startsWith('training'))).toHaveLength(2);
    expect(await deps.listPrices.get(HOME)).toMatchObject({ prices: [{ hourlyUsd: 1.4 }], ec2: [] });
  });

  it('cover each declared region and its transfer', async () => {
    await prices(computeOf({ regions: [{ name: 'us-west-2' }, { name: 'eu-west-1' }] }));
    expect(requested).toEqual([
      'training us-east-1: g5.xlarge',
      'transfer us-east-1: us-west-2 eu-west-1',
      'training us-west-2: g5.xlarge',
      'transfer us-west-2: us-east-1',
      'training eu-west-1: g5.xlarge',
      'transfer eu-west-1: us-east-1',
    ]);
    expect(await deps.listPrices.get('us-west-2')).toMatchObject({
      ec2: [{ instanceType: 'g5.xlarge', hourlyUsd: expect.closeTo(1.12) }],
      transfer: [{ to: HOME, usdPerGigabyte: 0.021, readAt: AT }],
    });
  });

  it('that are absurd are not believed', async () => {
    usd = 140;
    await prices(computeOf());
    expect(await deps.listPrices.get(HOME)).toMatchObject({ prices: [], ec2: [] });
    expect(notes.toSorted().join()).toMatch(
      /EC2's price of g5.xlarge.*list price of g5.xlarge in us-east-1 is not believed: \$140/,
    );
  });

  it('of transfer and new types are checked too', async () => {
    const regions = [{ name: 'us-west-2' }, { name: 'sa-east-1' }];
    const absurd: CatalogSource = {
      ...catalog,
      ec2Prices: (types) => known(types.map((instanceType) => ({ instanceType, hourlyUsd: 1e9 }))),
      transferPrices: (from, others) =>
        known(others.map((to) => ({ to, usdPerGigabyte: from === HOME ? 20 : 0.138 }))),
    };
    deps = { ...deps, catalog: absurd };
    await prices(computeOf({ instanceTypes: ['g7.2xlarge'], regions }));
    expect(await deps.listPrices.get(HOME)).toMatchObject({ ec2: [], transfer: [] });
    expect(await deps.listPrices.get('sa-east-1')).toMatchObject({
      transfer: [{ to: HOME, usdPerGigabyte: 0.138 }],
    });
    expect(notes).toContain(
      'the price of transfer of a gigabyte for us-west-2 in us-east-1 is not believed: $20 is too far from $0.020',
    );
    expect(notes).toContain(
      "EC2's price of g7.2xlarge in us-east-1 is not believed: $1000000000 is no price that AWS has ever asked",
    );
  });
});

describe('hardware', () => {
  const refresh = (...types: string[]) =>
    refreshHardware(deps, [computeOf({ instanceTypes: ['g5.xlarge', ...types] })], notes);

  it('of known and new types is read daily', async () => {
    entries = [entry('g5.xlarge'), entry('g7.2xlarge', { vcpu: 8, accelerator: 'B400', memoryMib: 98_304 })];
    const facts = await refresh('g7.2xlarge');
    expect(facts('g7.2xlarge')).toMatchObject({ vcpu: 8, accelerator: 'B400', acceleratorCount: 1 });
    expect(facts('g5.xlarge')).toEqual(instanceFacts('g5.xlarge'));
    expect(await deps.hardware.get()).toMatchObject({
      at: AT,
      region: HOME,
      facts: [{ facts: { type: 'g7.2xlarge' }, readAt: AT }],
      refused: [],
    });
    await refresh('g7.2xlarge');
    expect(requested).toHaveLength(1);
  });

  it('that is nonsense replaces nothing, and is reported', async () => {
    entries = [entry('g7.2xlarge', { vcpu: 8 })];
    await refresh('g7.2xlarge');
    deps.clock.advance(86_401);
    entries = [entry('g7.2xlarge', { vcpu: 0 }), entry('g5.xlarge', { vcpu: 400 })];
    const facts = await refresh('g7.2xlarge');
    expect([facts('g7.2xlarge')?.vcpu, facts('g5.xlarge')?.vcpu]).toEqual([8, 4]);
    expect(notes).toHaveLength(2);
    expect((await deps.hardware.get())?.facts).toMatchObject([{ readAt: AT }]);
  });

  it('stays as it was when EC2 does not answer', async () => {
    entries = undefined;
    expect((await refresh('g7.2xlarge'))('g5.xlarge')).toEqual(instanceFacts('g5.xlarge'));
    expect(notes.join()).toMatch(/hardware unknown \(throttled\)/);
    expect(await deps.hardware.get()).toBeUndefined();
  });
});
