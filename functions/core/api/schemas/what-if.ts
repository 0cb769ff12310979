/** What the API says of a placement that was decided, decided again under other conditions. */
import * as z from 'zod';
import { DECLARED_LAUNCHERS } from '../../pipeline/launchers.ts';
import { placementDecisionSchema } from '../../placement/placement-records.ts';
import { list, time } from '../../shared/fields.ts';
import { namesText } from './operation.ts';

const names = namesText.optional();
const amount = z.coerce.number().positive('write a number above 0').optional();

export const whatIfQuery = z.strictObject({
  deadlineHours: amount,
  budgetUsd: amount,
  purchaseOption: z.enum(['spot', 'on-demand', 'spot-then-on-demand']).optional(),
  launcher: z.enum(DECLARED_LAUNCHERS).optional(),
  instanceTypes: names.describe('Such as g5.xlarge,g6.xlarge.'),
  zoneIds: names.describe('Such as use1-az1,use1-az4.'),
  regions: names.describe('Such as us-east-1,us-west-2.'),
  dataGigabytes: amount.describe('How much would move to a region that the pipeline did not name.'),
});

export const whatIfAnswer = z.object({
  decidedAt: time.describe('The time as of which it is decided again.'),
  /** Of the same rules, with what is on record now. */
  again: placementDecisionSchema.describe('Without any change.'),
  isSame: z.boolean().describe('Whether `again` comes to the pool and the gang that were chosen.'),
  changed: placementDecisionSchema.describe('With the change.'),
  notes: list(z.string()).describe('What is not known of that time.'),
});
