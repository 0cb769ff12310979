/** What the API says of placements: where an attempt runs, and why. */
import * as z from 'zod';
import { placementDecisionSchema, placementSchema } from '../../placement/placement-records.ts';

export const placement = placementSchema.omit({ considered: true });

export const storedPlacement = z.object({
  attempt: z.number().int(),
  decision: placementDecisionSchema,
});
