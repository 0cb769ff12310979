/** Which version of the dataset trains: the `dataset` part of a declaration. */
import * as z from 'zod';

export const datasetSchema = z
  .strictObject({
    pin: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]*-\d{6,}$/, 'name a generation such as digits-000003')
      .describe('Train on this generation and those before it, whatever is packed later.'),
  })
  .describe('A version of the dataset is named by its last generation.');
