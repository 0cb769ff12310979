/** Addresses that are credentials, or stand beside some: a secret of Secrets Manager holds them. */

import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';

const schema = z.object({
  url: z.string(),
  /** Signs what is posted to a webhook. */
  key: z.string().min(16).optional(),
  token: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
});

export interface SecretAddress extends Omit<z.output<typeof schema>, 'url'> {
  readonly url: URL;
}

/** The secret holds the address alone, or {"url": …, …}. No word of it goes into a reason. */
export async function secretAddress(
  secrets: SecretsManagerClient,
  SecretId: string,
): Promise<SecretAddress | { readonly reason: string }> {
  let text: string;
  try {
    ({ SecretString: text = '' } = await secrets.send(new GetSecretValueCommand({ SecretId })));
  } catch (error: unknown) {
    if (error instanceof ResourceNotFoundException)
      return { reason: 'there is no such secret: create it, or name another one' };
    throw error;
  }
  const given = schema.safeParse(parseJson(text));
  const { url, ...rest } = given.success ? given.data : { url: text.trim() };
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address === undefined) return { reason: 'the secret holds no address: write it, or {"url": …, …}' };
  const isLocal = address.protocol === 'http:' && address.hostname === '127.0.0.1';
  if (address.protocol !== 'https:' && !isLocal)
    return { reason: 'its address is not https: write https://…' };
  return { url: address, ...rest };
}
