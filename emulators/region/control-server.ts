/** What a region offers to its user beside AWS's protocols: interruptions. Loopback only, signed with the region's key. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { AccessKey } from '../access/access-key.ts';
import { serveLocally } from '../access/local-server.ts';
import { signedBody } from '../access/signature.ts';
import { type Interruptions, StrikeRefusedError } from './interruptions.ts';

/** In the state folder: `{"url"}` while the region is up. */
export const CONTROL_FILE = 'control.json';
const OWNER_ONLY = 0o600;
const MOST_BYTES = 65_536;

const strikeSchema = z.strictObject({
  run: z.string().min(1),
  kill: z.boolean(),
  host: z.int().min(1).optional(),
});

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** GET /jobs answers the running jobs; POST /interruptions strikes one. */
export async function startControlServer(options: {
  readonly stateDirectory: string;
  readonly credentials: AccessKey;
  readonly interruptions: Interruptions;
  readonly log: (line: string) => void;
}): Promise<() => Promise<void>> {
  const { stateDirectory, credentials, interruptions, log } = options;
  const server = await serveLocally(
    async (request, response, url) => {
      const signed = await signedBody(request, url, { key: credentials, mostBytes: MOST_BYTES });
      const route = `${request.method} ${url.pathname}`;
      const { status, body } = Buffer.isBuffer(signed) ? answer(route, signed, interruptions) : UNSIGNED;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    },
    { log: (line) => log(`control server: ${line}`) },
  );
  const file = join(stateDirectory, CONTROL_FILE);
  await writeFile(file, JSON.stringify({ url: server.url }), { mode: OWNER_ONLY });
  return async () => {
    await rm(file, { force: true });
    await server.close();
  };
}

function answer(route: string, body: Buffer, interruptions: Interruptions): Reply {
  if (route === 'GET /jobs') return { status: 200, body: interruptions.running() };
  if (route !== 'POST /interruptions') return refusal(404, 'GET /jobs or POST /interruptions');
  try {
    return { status: 200, body: interruptions.strike(strikeSchema.parse(JSON.parse(body.toString('utf8')))) };
  } catch (error: unknown) {
    if (error instanceof StrikeRefusedError) return refusal(409, error.message);
    if (error instanceof z.ZodError) return refusal(400, z.prettifyError(error));
    if (error instanceof SyntaxError) return refusal(400, `the body is no JSON: ${error.message}`);
    throw error;
  }
}

const refusal = (status: number, message: string): Reply => ({ status, body: { message } });

const UNSIGNED = refusal(
  403,
  `sign the request, of at most ${MOST_BYTES} bytes, with the region's access key`,
);
