/** No call of the HTTP API fails the service, whatever it says, and its dry run foresees the answer. */
import { storedPart } from '@tidewheel/placement/choose.ts';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { apiCalls } from '../../support/api-calls.ts';
import { market, question } from '../../support/builders/placement.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  runOf,
} from '../../support/builders/records.ts';
import { ground } from '../../support/world/ground.ts';

const CALLS = Number(process.env['TIDEWHEEL_CALLS'] ?? 500);
const KNOWN = {
  name: ['digits', 'letters', 'none'],
  pipeline: ['digits', 'none'],
  runId: ['digits-000001', 'digits-000002', 'digits-000009'],
  runs: ['digits-000001,digits-000002', 'digits-000001'],
  attempt: ['1', '2', '0'],
  generation: ['digits-000001', 'none'],
};

/** DynamoDB takes keys of up to 2,048 bytes, and S3 of 1,024. */
const MOST_KEY_BYTES = 1_000;
const withKeyLimits = <Store extends object>(store: Store): Store =>
  new Proxy(store, {
    get: (target, name) => {
      const own: unknown = Reflect.get(target, name);
      if (typeof own !== 'function') return own;
      return (...given: unknown[]) => {
        const [key] = given;
        if (typeof key === 'string' && Buffer.byteLength(key) > MOST_KEY_BYTES)
          throw new Error(`ValidationException: a key of ${Buffer.byteLength(key)} bytes`);
        return Reflect.apply(own, target, given) as unknown;
      };
    },
  });

async function world() {
  const made = ground();
  const { runs, pipelines, attempts, timeline, placements, store } = made;
  const at = {
    ...made,
    runs: withKeyLimits(runs),
    pipelines: withKeyLimits(pipelines),
    attempts: withKeyLimits(attempts),
    timeline: withKeyLimits(timeline),
    placements: withKeyLimits(placements),
    store: withKeyLimits(store),
  };
  at.declare();
  await at.pipelines.ensure('digits', { firstBatch: 3, at: at.clock.now().toISOString() });
  const declaration = declarationOf('digits');
  await at.runs.create(runOf('digits', 1, { status: 'succeeded', declaration }));
  await at.runs.create(runOf('digits', 2, { status: 'training', declaration }));
  await at.attempts.create(attemptOf('digits-000001', 1, { outcome: outcomeOf('completed') }));
  await at.attempts.create(attemptOf('digits-000002', 1, { status: 'running' }));
  const asked = storedPart(question({ now: AT, expectedSeconds: undefined, market: market({}) }));
  await at.placements.put('digits-000002', 1, { kind: 'launch', placement: placementOf(), question: asked });
  return at;
}

it('is answered by no failure, and foreseen', async () => {
  let at = await world();
  let calls = 0;
  let done = 0;
  await fc.assert(
    fc.asyncProperty(apiCalls(KNOWN), async (call) => {
      calls += 1;
      if (calls % 50 === 0) at = await world();
      const dry = await answer(at, { ...call, headers: { 'tidewheel-dry-run': 'true' } });
      const real = await answer(at, call);
      const { status } = real;
      expect(status).toBeLessThan(500);
      // Without a change a dry run gets the answer itself.
      expect(dry).toEqual(dry.status === 412 && status < 300 ? dry : real);
      if (status < 300) done += 1;
    }),
    { numRuns: CALLS, ...(process.env['TIDEWHEEL_CALLS'] === undefined && { seed: 1 }) },
  );
  expect(done).toBeGreaterThan(CALLS / 10);
}, 600_000);
