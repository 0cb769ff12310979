import { DECLARED_LAUNCHERS } from '@tidewheel/declaration/launchers.ts';
import { list, time } from '@tidewheel/kit/fields.ts';
import { decide } from '@tidewheel/placement/estimate.ts';
import {
  completeMarket,
  decideIf,
  questionBesideOthers,
  sameChoice,
  whyUnreadable,
} from '@tidewheel/placement/explain.ts';
import { placementDecisionSchema } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { ok, problem } from '../shared/answers.ts';
import { defineRunOperation, READS } from '../shared/operation.ts';
import { namesText } from '../shared/query-text.ts';
import { noPlacement, storedPlacementOf } from './get-placement.ts';

const names = namesText.optional();
const AMOUNT = 'write a number from 0.001 to 1000000000';
const amount = z.coerce.number().min(0.001, AMOUNT).max(1e9, AMOUNT).optional();

export const getWhatIf = defineRunOperation(
  {
    ...READS,
    route: 'GET /runs/{runId}/what-if/{attempt}',
    id: 'getWhatIf',
    summary: 'Decides the placement of an attempt again, with something changed. Nothing is started.',
    query: z.strictObject({
      deadlineHours: amount,
      budgetUsd: amount,
      purchaseOption: z.enum(['spot', 'on-demand', 'spot-then-on-demand']).optional(),
      launcher: z.enum(DECLARED_LAUNCHERS).optional(),
      instanceTypes: names.describe('Such as g5.xlarge,g6.xlarge.'),
      zoneIds: names.describe('Such as use1-az1,use1-az4.'),
      regions: names.describe('Such as us-east-1,us-west-2.'),
      dataGigabytes: amount.describe('How much would move to a region that the pipeline did not name.'),
    }),
    answer: z.object({
      decidedAt: time.describe('The time as of which it is decided again.'),
      /** Of the same rules, with what is on record now. */
      again: placementDecisionSchema.describe('Without any change.'),
      isSame: z.boolean().describe('Whether `again` comes to the pool and the gang that were chosen.'),
      changed: placementDecisionSchema.describe('With the change.'),
      notes: list(z.string()).describe('What is not known of that time.'),
    }),
    refusals: [404, 409],
  },
  async (deps, { run, parameters, query }) => {
    const { runId } = run;
    const [attempts, stored] = await Promise.all([
      deps.attempts.list(runId),
      storedPlacementOf(deps, runId, parameters.attempt),
    ]);
    if (stored === undefined) return noPlacement(runId, parameters.attempt);
    const { decision } = stored;
    const damage = whyUnreadable(decision);
    if (damage !== undefined) return problem(409, damage);
    const { dataGigabytes, ...change } = query;
    const replay = { run, attempts, ...stored };
    const question = await questionBesideOthers(deps.poolOutcomes, replay);
    if (question === undefined) return noPlacement(runId, parameters.attempt);
    const more = change.instanceTypes;
    const asked = (more && (await questionBesideOthers(deps.poolOutcomes, replay, more))) ?? question;
    const { input, notes } = await completeMarket(asked, change, {
      ...deps,
      datasetBytes: dataGigabytes === undefined ? undefined : dataGigabytes * 1e9,
    });
    const again = decide(question, runId);
    return ok({
      decidedAt: question.now,
      again,
      isSame: sameChoice(again, decision),
      changed: decideIf(input, change, runId),
      notes,
    });
  },
);
