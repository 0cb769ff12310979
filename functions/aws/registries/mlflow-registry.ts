/**
 * MLflow's model registry over its REST API (https://mlflow.org/docs/latest/rest-api.html): a registered model for each
 * pipeline, a version for each model. The alias `champion` is the model in use.
 */

import { TransientError } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import type { HandedModel, ModelRegistry } from '../../run/models/hand-over.ts';
import type { SecretAddress } from '../shared/secret-address.ts';

interface Declared {
  /** Names the registered model. */
  readonly name: string;
  readonly address: string;
  readonly fetch: typeof fetch;
  readonly server: () => Promise<SecretAddress | { readonly reason: string }>;
}

const ALIAS = 'champion';
const TIMEOUT_MILLISECONDS = 10_000;

export const mlflowRegistry = ({ name, address, fetch, server }: Declared): ModelRegistry => ({
  name: 'MLflow',
  address,
  put: async (handed) => {
    const found = await server();
    if ('reason' in found) throw new Error(`registries.mlflow.secret ${address}: ${found.reason}`);
    return put(callerOf(found, fetch), name, handed);
  },
});

const tag = z.object({ key: z.string(), value: z.string().default('') });
const version = z.object({ version: z.coerce.string(), tags: z.array(tag).default([]) });
const modelSchema = z.object({
  registered_model: z.object({
    aliases: z.array(z.object({ alias: z.string(), version: z.coerce.string() })).default([]),
  }),
});
const versionsSchema = z.object({ model_versions: z.array(version).default([]) });
const createdSchema = z.object({ model_version: version });
type Version = z.output<typeof version>;

async function put(call: Call, name: string, handed: HandedModel) {
  const { model, current, tags } = handed;
  await call('POST', 'registered-models/create', { name }, 'RESOURCE_ALREADY_EXISTS');
  const shown = (await versionOf(call, name, model.uri)) ?? (await createVersion(call, name, handed));
  for (const [key, value] of Object.entries(tags))
    if (!shown.tags.some((each) => each.key === key && each.value === value))
      await call('POST', 'model-versions/set-tag', { name, version: shown.version, key, value });
  const champion = await championOf(call, name);
  // A slow process may have left the alias on a former one.
  const next =
    model.state === 'current'
      ? shown
      : champion === shown.version && current && (await versionOf(call, name, current.uri));
  if (next && champion !== next.version)
    await call('POST', 'registered-models/alias', { name, alias: ALIAS, version: next.version });
  return { kind: 'stands', where: `version ${shown.version} of ${name}` } as const;
}

/** @returns the version that has the alias */
async function championOf(call: Call, name: string): Promise<string | undefined> {
  const answer = await call('GET', `registered-models/get?${new URLSearchParams({ name }).toString()}`);
  const { aliases } = modelSchema.parse(answer).registered_model;
  return aliases.find(({ alias }) => alias === ALIAS)?.version;
}

/** The first version with this archive. Two processes at once may have made two: the later one goes. */
async function versionOf(call: Call, name: string, source: string): Promise<Version | undefined> {
  // MLflow knows no quote within a quoted text, and neither names nor addresses of archives have one.
  const filter = `name='${name}' and source_path='${source}'`;
  const query = new URLSearchParams({ filter }).toString();
  const { model_versions } = versionsSchema.parse(await call('GET', `model-versions/search?${query}`));
  const [first, ...doubled] = model_versions
    .filter(({ tags }) => tags.some(({ key }) => key === 'tidewheel.run'))
    .toSorted((a, b) => Number(a.version) - Number(b.version));
  for (const { version: later } of doubled)
    await call('DELETE', 'model-versions/delete', { name, version: later }, 'RESOURCE_DOES_NOT_EXIST');
  return first;
}

async function createVersion(call: Call, name: string, { model, tags }: HandedModel): Promise<Version> {
  const { uri: source, runId } = model;
  const given = Object.entries(tags).map(([key, value]) => ({ key, value }));
  const request = { name, source, description: `Tidewheel run ${runId}`, tags: given };
  const { model_version } = createdSchema.parse(await call('POST', 'model-versions/create', request));
  return (await versionOf(call, name, source)) ?? model_version;
}

/** @param expected the error code of an answer that is no failure: then there is no answer */
type Call = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  fields?: object,
  expected?: string,
) => Promise<unknown>;

function callerOf({ url, token, username, password }: SecretAddress, fetch: Declared['fetch']): Call {
  const base = `${url.origin}${url.pathname.replace(/\/$/, '')}/api/2.0/mlflow/`;
  // Parts of an address alone are encoded.
  const user = username ?? decodeURIComponent(url.username);
  const word = password ?? decodeURIComponent(url.password);
  const basic = user === '' ? undefined : `Basic ${Buffer.from(`${user}:${word}`).toString('base64')}`;
  const authorization = token === undefined ? basic : `Bearer ${token}`;
  return async (method, path, fields, expected) => {
    const { ok, status, text } = await fetch(`${base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      ...(fields !== undefined && { body: JSON.stringify(fields) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
    })
      .then(async (answer) => ({ ok: answer.ok, status: answer.status, text: await textOf(answer) }))
      .catch((cause: unknown) => {
        // The cause names the address, which may hold a password.
        const why = cause instanceof Error ? cause.name : 'unknown';
        throw new TransientError(`${url.host} cannot be reached`, { cause: why });
      });
    if (ok) return parseJson(text);
    const error = problemSchema.safeParse(parseJson(text)).data;
    if (expected !== undefined && error?.error_code === expected) return undefined;
    const why = `${url.host} answers ${status}: ${(error?.message ?? '').slice(0, 200)}`;
    throw status >= 500 || status === 429 ? new TransientError(why) : new Error(why);
  };
}

const MOST_BYTES = 4e6;

/** @throws RangeError where the server sends more than it is read for */
async function textOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const sent: AsyncIterable<Uint8Array> | undefined = body ?? undefined;
  for await (const part of sent ?? []) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new RangeError('the answer is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

const problemSchema = z.object({ error_code: z.string().optional(), message: z.string().optional() });
