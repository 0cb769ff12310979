/**
 * What became of automatic checkpoints: their trial, their end, or that they would help; each where known.
 *
 * In: a schema for `readDocument`. Out: facts for the timeline. Errors: none. `runs/automatic.ts` reads it, and the agent
 * reads it again to add a fact or to leave the hooks out.
 */
import * as z from 'zod';
import { type HostDocument, whereKnown } from './document.ts';

const count = z.number().min(0);
const fact = z.object({
  attempt: count,
  step: count.catch(0),
  seconds: count.catch(0),
  reason: z.string().max(500).catch(''),
});

export const automaticNote = {
  name: 'automatic',
  version: 1,
  schema: z.object({
    trial: whereKnown(fact.extend({ result: z.enum(['passed', 'refused', 'untried']) })),
    /** `forGood`: later attempts get no hooks either. */
    stopped: whereKnown(fact.extend({ forGood: whereKnown(z.boolean()) })),
    offer: whereKnown(fact),
  }),
} satisfies HostDocument;
export type AutomaticNote = z.output<typeof automaticNote.schema>;
