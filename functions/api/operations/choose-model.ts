import * as z from 'zod';
import { CHOICES, decideAsAsked } from '../../run/models/choose-model.ts';
import { noPipeline, ok, problem, refused } from '../shared/answers.ts';
import { CHANGES, defineOperation, jsonBodyOf } from '../shared/operation.ts';
import { models, shownModels } from './get-models.ts';

const choiceBody = z.strictObject({
  decision: z.enum(CHOICES),
  runId: z.string().describe('Whose model it is. Of rollback: the one in use, which is then rejected.'),
  reason: z.string().trim().min(1, 'say why').max(500).describe('Others read it.'),
});

/** Idempotent: a repeated call changes nothing. */
export const chooseModel = defineOperation(
  {
    ...CHANGES,
    route: 'POST /pipelines/{name}/models',
    id: 'chooseModel',
    risk: 'loss',
    summary: 'Promotes or rejects a model, or goes back to the former one.',
    body: { schema: choiceBody, required: true },
    answer: models.extend({ changed: z.boolean().describe('false: it was so already.') }),
  },
  async (deps, { parameters: { name }, body, caller }) => {
    const asked = jsonBodyOf(choiceBody, body);
    if (!asked.ok) return refused('the decision is not valid', asked.problems);
    if ((await deps.pipelines.get(name)) === undefined) return noPipeline(name);
    const chosen = await decideAsAsked(deps, { pipeline: name, by: caller, ...asked.value });
    if (chosen.kind === 'refused') return problem(409, chosen.why);
    return ok({ ...(await shownModels(deps, name)), changed: chosen.kind === 'changed' });
  },
);
