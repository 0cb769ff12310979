/** What describes an operation of the API, and the schemas that many of them share. */
import * as z from 'zod';
import { list, problemSchema } from '../../shared/fields.ts';

/** viewer: reads; operator: also changes something. An operator may all that a viewer may. */
export type Role = 'viewer' | 'operator';

export interface Operation {
  /** Name of the method in a client. */
  readonly id: string;
  /** One sentence in the present tense. */
  readonly summary: string;
  readonly role: Role;
  readonly query: z.ZodObject;
  readonly body?: RequestBody;
  readonly status: 200 | 202;
  readonly answer: z.ZodType;
  /** Beside 400, 403 and 429, which every operation may answer. */
  readonly refusals: readonly (404 | 409)[];
}

interface RequestBody {
  readonly schema: z.ZodType;
  readonly required: boolean;
  /** Beside JSON. */
  readonly yaml?: true;
}

export const noQuery = z.strictObject({});

/** In a query everything is text. */
export const numberText = (minimum: number, maximum: number) =>
  z
    .string()
    .refine(
      (text) => /^\d{1,9}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum,
      `give a whole number from ${minimum} to ${maximum}`,
    )
    .transform(Number)
    .meta({ type: 'integer', minimum, maximum });

export const wholeNumber = (minimum: number, maximum: number, usual: number) =>
  numberText(minimum, maximum).meta({ type: 'integer', minimum, maximum, default: usual }).default(usual);

/** Such as `g5.xlarge,g6.xlarge`. */
export const namesText = z
  .string()
  .regex(/^[a-z0-9.-]+(,[a-z0-9.-]+)*$/, 'write names with commas between them')
  .transform((text) => text.split(','));

export const refusalSchema = z.object({
  message: z.string().describe('What is wrong, and what to do.'),
  problems: list(problemSchema).optional(),
});
