import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import type { ListPrices } from '@tidewheel/catalog/prices.ts';
import { RunNotFoundError } from '@tidewheel/kit/errors.ts';
import { describe, expect, it } from 'vitest';
import { formatDecision } from '../../../../cli/show/decision-text.ts';
import { place } from '../../../../functions/run/attempts/place.ts';
import {
  attempt,
  CLOSED_AT,
  hoursLater,
  market,
  poolOf,
  vpc,
} from '../../../../test/support/builders/placement.ts';
import { declarationOf, runOf } from '../../../../test/support/builders/records.ts';
import { sealGeneration } from '../../../../test/support/builders/sealed-generation.ts';
import { memoryObjectStore } from '../../../../test/support/fakes/object-store.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import { marketSource } from '../../../../test/support/market/source.ts';
import { storedQuestion } from '../../decision/situation.ts';
import { QUESTIONS_A_DAY, questionKey } from '../../market/ask-scores.ts';
import type { MarketSource, MarketView, OfferSource } from '../../records/market-history.ts';

const source = (view: MarketView): MarketSource => ({
  ...marketSource(() => view),
  scores: () =>
    Promise.resolve({ kind: 'unknown', failure: 'configurationLimit', message: 'too many new questions' }),
});

async function setUp(nowHours = 1) {
  const stores = memoryStores();
  const compute = { instanceTypes: ['g5.xlarge', 'g6.xlarge'], nodes: 2, vpc };
  const run = runOf('digits', 1, { declaration: declarationOf('digits', { compute }), closedAt: CLOSED_AT });
  await stores.runs.create(run);
  const clock = { now: () => new Date(hoursLater(nowHours)) };
  return {
    deps: { ...stores, store: memoryObjectStore(clock), market: source(market()), clock },
    stores,
    runId: run.runId,
  };
}
const spotPool = poolOf('g5.xlarge', 'use1-az1');

describe('place', () => {
  it('stores the decision and names the next attempt', async () => {
    const { deps, stores, runId } = await setUp();
    expect(await place(deps, { runId })).toMatchObject({ kind: 'launch', attempt: 1 });
    const [stored] = await stores.placements.list(runId);
    expect(stored?.attempt).toBe(1);
    if (stored?.decision.kind !== 'launch') throw new Error('no launch stored');
    expect(stored.decision.placement.considered.length).toBeGreaterThan(0);
    expect(stored.decision.placement.reason).toContain('configurationLimit');
  });

  it('decides the same when it runs twice', async () => {
    const { deps, stores, runId } = await setUp();
    const first = await place(deps, { runId });
    const stored = await stores.placements.list(runId);
    expect(await place(deps, { runId })).toEqual(first);
    expect(await stores.placements.list(runId)).toEqual(stored);
  });

  it('returns an open attempt and starts no second one', async () => {
    const { deps, stores, runId } = await setUp();
    const { outcome: _, ...open } = attempt(1, spotPool, { kind: 'completed' }, { runId, status: 'running' });
    await stores.attempts.create(open);
    expect(await place(deps, { runId })).toMatchObject({ kind: 'launch', attempt: 1 });
    expect(await stores.placements.list(runId)).toEqual([]);
  });

  it('keeps the decision of an attempt launched meanwhile', async () => {
    const { deps, stores, runId } = await setUp();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const scores: MarketSource['scores'] = async () => {
      await answered;
      const value = [{ zoneId: 'use1-az4', score: 10 }];
      return { kind: 'known', value, notes: [] };
    };
    const slow = place({ ...deps, market: { ...deps.market, scores } }, { runId });
    await place(deps, { runId });
    const stored = await stores.placements.list(runId);
    const { outcome: _, ...open } = attempt(1, spotPool, { kind: 'completed' }, { runId, status: 'running' });
    await stores.attempts.create(open);
    answer();
    expect(await slow).toMatchObject({ kind: 'launch', attempt: 1 });
    expect(await stores.placements.list(runId)).toEqual(stored);
  });

  it('counts on from the attempts that ended', async () => {
    const { deps, stores, runId } = await setUp(2);
    const lost = attempt(
      1,
      spotPool,
      { kind: 'interrupted', startedAt: hoursLater(1), endedAt: hoursLater(2) },
      { runId },
    );
    await stores.attempts.create(lost);
    expect(await place(deps, { runId })).toMatchObject({ kind: 'launch', attempt: 2 });
  });

  it('gives up after the deadline, and stores why', async () => {
    const { deps, stores, runId } = await setUp(25);
    expect(await place(deps, { runId })).toMatchObject({
      kind: 'giveUp',
      reason: expect.stringContaining('deadline'),
    });
    expect((await stores.placements.list(runId))[0]?.decision.kind).toBe('giveUp');
  });

  it('tells once what is not known of reservations', async () => {
    const { deps, stores, runId } = await setUp();
    const compute = { instanceTypes: ['g5.xlarge'], nodes: 2, vpc, reserved: ['cr-0123456789abcdef0'] };
    await stores.runs.update(runId, {
      declaration: declarationOf('digits', { compute }),
      updatedAt: CLOSED_AT,
    });
    const text = 'reservations unknown (throttled): asked again at the next placement';
    const reservations = () => Promise.resolve({ reservations: [], notes: [text] });
    for (let time = 0; time < 2; time += 1) await place({ ...deps, reservations }, { runId });
    const unused = (await stores.timeline.list(runId)).filter(({ kind }) => kind === 'ReservationUnused');
    expect(unused.map((each) => each.text)).toEqual([text]);
  });

  it('asks before the first attempt alone what AWS offers', async () => {
    const { deps, stores, runId } = await setUp();
    const declaration = (await stores.runs.get(runId))?.declaration;
    const before = runOf('digits', 2, { status: 'succeeded', closedAt: CLOSED_AT, declaration });
    await stores.runs.create(before);
    const outcome = { kind: 'completed', trainingSeconds: 6 * 3_600 } as const;
    await stores.attempts.create(attempt(1, spotPool, outcome, { runId: before.runId, status: 'done' }));
    let asked = 0;
    const offers: OfferSource = ({ instanceType, instances, kind }) => {
      asked += 1;
      const windows = [{ startsAt: hoursLater(3), endsAt: hoursLater(27) }];
      const value = [{ id: 'tpo-1', kind, instanceType, instances, windows, upfrontUsd: 1 }];
      return Promise.resolve({ kind: 'known', value, notes: [] });
    };
    await place({ ...deps, offers }, { runId });
    expect(asked).toBe(2);
    const [stored] = await stores.placements.list(runId);
    if (stored?.decision.kind !== 'launch') throw new Error('no launch stored');
    expect(formatDecision(stored.decision, hoursLater(1))).toMatch(/^AWS offers 2 x g5.xlarge .*tpo-1/m);
    await stores.attempts.create(
      attempt(1, spotPool, { kind: 'interrupted', trainingSeconds: 60 }, { runId }),
    );
    await place({ ...deps, offers }, { runId });
    expect(asked).toBe(2);
  });

  it('decides with the hardware that EC2 describes', async () => {
    const { deps, stores, runId } = await setUp();
    const [g5, g6] = [instanceFacts('g5.xlarge'), instanceFacts('g6.xlarge')];
    if (!g5 || !g6) throw new Error('the catalog has both');
    const at = hoursLater(0);
    const facts = [
      { facts: { ...g5, nvmeGb: 300 }, readAt: at },
      { facts: { ...g6, type: 'g9.xlarge' }, readAt: at },
    ];
    await stores.hardware.put({ region: 'us-east-1', at, requested: [], facts, refused: [] });
    await place(deps, { runId });
    const [stored] = await stores.placements.list(runId);
    expect(stored && storedQuestion(stored.decision)?.hardware).toEqual(facts.slice(0, 1));
    if (stored?.decision.kind !== 'launch') throw new Error('no launch stored');
    expect(stored.decision.placement.reason).toContain("hardware of g5.xlarge is EC2's of 2026-11-20");
  });

  it('considers a newer type once its hardware is known', async () => {
    const { deps, stores } = await setUp();
    const g6 = instanceFacts('g6.xlarge');
    if (!g6) throw new Error('the catalog has it');
    const facts = { ...g6, type: 'g7.2xlarge' };
    const needs = { accelerators: 1, kinds: ['L4'] };
    const compute = { instanceTypes: ['g7.2xlarge'], needs };
    const declaration = declarationOf('new', { training: { strategy: 'single', image: 'mine' }, compute });
    const run = runOf('new', 1, { declaration, closedAt: CLOSED_AT });
    await stores.runs.create(run);
    const reasonsOf = async (attempts: number) => {
      await place(deps, { runId: run.runId });
      const decision = (await stores.placements.list(run.runId)).at(attempts)?.decision;
      return decision?.kind === 'launch' ? [] : (decision?.considered ?? []).map(({ verdict }) => verdict);
    };
    expect(await reasonsOf(0)).toEqual([expect.stringContaining('the catalog does not know g7.2xlarge')]);
    const at = hoursLater(0);
    await stores.hardware.put({
      region: 'us-east-1',
      at,
      requested: [],
      facts: [{ facts, readAt: at }],
      refused: [],
    });
    expect((await reasonsOf(0)).join()).toContain('no price of g7.2xlarge is known');
  });

  it('names the run that is not on record', async () => {
    const { deps } = await setUp();
    await expect(place(deps, { runId: 'digits-999999' })).rejects.toBeInstanceOf(RunNotFoundError);
  });
});

describe('the scores that placements ask for', () => {
  /** Forty pipelines whose gangs differ, placed one after the other. */
  async function placeMany() {
    const { deps, stores } = await setUp();
    const requested: string[] = [];
    const scores: MarketSource['scores'] = (types, nodes) => {
      requested.push(questionKey(types, nodes));
      return Promise.resolve({ kind: 'known', value: [{ zoneId: 'use1-az1', score: 9 }], notes: [] });
    };
    const placeOne = async (k: number): Promise<string> => {
      const others = [
        ...['g6', 'g6e', 'g4dn', 'p3', 'c6i', 'r5'].map((family) => `${family}.8xlarge`),
        'c5.9xlarge',
        'm5.12xlarge',
      ];
      const instanceTypes = ['g5.xlarge', ...others.filter((_, at) => at !== k % 8)];
      const compute = { instanceTypes, nodes: 2 ** Math.floor(k / 8), vpc };
      const name = `many-${k}`;
      const run = runOf(name, 1, { declaration: declarationOf(name, { compute }), closedAt: CLOSED_AT });
      await stores.runs.create(run);
      await place({ ...deps, market: { ...deps.market, scores } }, { runId: run.runId });
      const decision = (await stores.placements.list(run.runId))[0]?.decision;
      return decision?.kind === 'launch' ? decision.placement.reason : (decision?.reason ?? '');
    };
    const reasons: string[] = [];
    for (let k = 0; k < 40; k += 1) reasons.push(await placeOne(k));
    return { requested, reasons, stores };
  }

  it("stay within the day's plan, and say so", async () => {
    const { requested, reasons, stores } = await placeMany();
    expect(new Set(requested).size).toBe(QUESTIONS_A_DAY);
    expect(await stores.scoreQuestions.list(CLOSED_AT)).toHaveLength(QUESTIONS_A_DAY);
    expect(
      reasons.slice(QUESTIONS_A_DAY).filter((reason) => !reason.includes('new questions are used up')),
    ).toEqual([]);
    expect(reasons.slice(0, QUESTIONS_A_DAY).join()).not.toContain('used up');
  });
});

describe('a pipeline that names regions', () => {
  const west = { ...source(market({ region: 'us-west-2' })), region: 'us-west-2' };
  const regionsOf = (closed?: string) => ({
    market: () => west,
    whyClosed: () => Promise.resolve(closed),
  });
  async function placed(closed?: string, training: object = {}, listed: readonly ListPrices[] = []) {
    const stores = memoryStores();
    for (const each of listed) await stores.listPrices.put(each);
    const compute = { instanceTypes: ['g5.xlarge'], regions: [{ name: 'us-east-1' }, { name: 'us-west-2' }] };
    const declaration = declarationOf('digits', { compute, training: { strategy: 'ddp', ...training } });
    const run = runOf('digits', 1, { declaration, closedAt: CLOSED_AT });
    await stores.runs.create(run);
    const clock = { now: () => new Date(hoursLater(1)) };
    const store = memoryObjectStore(clock);
    await sealGeneration(store, run.runId, { shards: [{ name: '0.tar', bytes: 50e9 }] });
    const deps = { ...stores, store, market: source(market()), regions: regionsOf(closed), clock };
    await place(deps, { runId: run.runId });
    const [stored] = await stores.placements.list(run.runId);
    if (stored?.decision.kind !== 'launch') throw new Error('no launch stored');
    return stored.decision;
  }

  it('has them assessed with the cost of the transfer', async () => {
    const { placement, question } = await placed();
    const away = placement.considered.filter(({ pool }) => pool.region === 'us-west-2');
    expect(away[0]?.transfer).toMatchObject({ gigabytes: 50, usd: 1 });
    expect(storedQuestion({ question })?.elsewhere?.map((view) => view.market.region)).toEqual(['us-west-2']);
  });

  it("pays transfer at the AWS Price List's price", async () => {
    const readAt = hoursLater(0);
    const list = { at: readAt, requested: [], requestedTo: [], prices: [], ec2: [] };
    const { placement } = await placed(undefined, {}, [
      { ...list, region: 'us-east-1', transfer: [{ to: 'us-west-2', usdPerGigabyte: 0.03, readAt }] },
    ]);
    const away = placement.considered.find(({ pool }) => pool.region === 'us-west-2');
    expect(away?.transfer).toMatchObject({ usd: 1.5, priceNote: 'AWS Price List, read today' });
  });

  it('learns why nothing can be launched there', async () => {
    const verdicts = async (...requested: Parameters<typeof placed>) =>
      (await placed(...requested)).placement.considered
        .filter(({ pool }) => pool.region === 'us-west-2')
        .map(({ verdict }) => verdict)
        .join();
    expect(await verdicts('the bucket memory-us-west-2 is not there')).toContain('is not there');
    expect(await verdicts(undefined, { source: 's3://code/mine/' })).toContain(
      "put it under the pipeline's source/",
    );
  });
});
