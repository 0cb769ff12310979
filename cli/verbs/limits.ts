/** `tidewheel limits`: another deadline or budget for an open run, and what placement would do with it. */

import { UsageError } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { usdText } from '../../client/amounts.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { runMeant } from '../command/run-list.ts';
import { defineVerb, option } from '../command/verb.ts';
import { formatDecision } from '../show/decision-text.ts';

const AMOUNT = 'write a number above 0, or none';
const amount = z
  .union([z.literal('none').transform(() => null), z.coerce.number(AMOUNT).positive(AMOUNT)], AMOUNT)
  .optional();

export const verb = defineVerb({
  name: 'limits',
  summary: 'give an open run another deadline or budget, and say what placement would do',
  about: `
The deadline counts from the close of the batch. The run goes on where it is: the new limits hold from the next look at
it, within five minutes. The declaration of the pipeline stays as it is. "tidewheel why RUN --deadline-hours H" foresees
the same, and changes nothing.`,
  positionals: ['RUN?'],
  options: {
    deadline: option('HOURS', 'or none', amount),
    budget: option('USD', 'or none', amount),
  },
  check: (_, values) =>
    values !== undefined && values.deadline === undefined && values.budget === undefined
      ? ['name what to change: --deadline HOURS, --budget USD, or both']
      : [],
  examples: [
    ['digits-000042 --deadline 48 --budget 30', 'more time and money'],
    ['digits-000042 --budget none', 'as much as it takes'],
  ],
  run: async ({ values: { deadline, budget }, positionals: [given] }, context) => {
    // The newest run may not be the one that the person means, and money hangs on it.
    if (given === undefined)
      throw new UsageError([`RUN is missing: the newest is ${await runMeant(context, undefined)}`]);
    const runId = await runMeant(context, given);
    const api = await context.api();
    const changed = await api.call('putLimits', {
      runId,
      body: {
        ...(deadline !== undefined && { deadlineHours: deadline }),
        ...(budget !== undefined && { budgetUsd: budget }),
      },
    });
    return context.answer(changed, () => limitsText(changed));
  },
});

function limitsText({ runId, limits, placement }: AnswerOf<'putLimits'>): string {
  const { deadlineHours, budgetUsd } = limits;
  const deadline = deadlineHours === undefined ? 'no deadline' : `a deadline of ${deadlineHours} h`;
  const budget = budgetUsd === undefined ? 'no budget' : `a budget of $${usdText(budgetUsd)}`;
  const said = `${runId} has ${deadline} and ${budget} now`;
  if (placement === undefined) return said;
  const at = placement.kind === 'launch' ? placement.placement.decidedAt : new Date().toISOString();
  return `${said}\n\nWith them, the last placement would have been:\n${formatDecision(placement, at)}`;
}
