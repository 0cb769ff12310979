/** What a region offers to its user beside AWS's protocols: interruptions. Loopback only, signed with the region's key. */
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import * as z from 'zod';
import type { AccessKey } from '../access/access-key.ts';
import { signatureProblem } from '../access/signature.ts';
import { refusesPage } from '../access/web-pages.ts';
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
  const server = createServer({ maxHeaderSize: 16_384 }, (request, response) => {
    if (refusesPage(request, response)) return;
    void answer(request, credentials, interruptions)
      .catch((error: unknown): Reply => {
        log(`control server: ${error instanceof Error ? error.message : String(error)}`);
        return { status: 500, body: { message: 'the region failed, see its log' } };
      })
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const file = join(stateDirectory, CONTROL_FILE);
  await writeFile(file, JSON.stringify({ url: `http://127.0.0.1:${port}` }), { mode: OWNER_ONLY });
  return async () => {
    await rm(file, { force: true });
    server.close();
    server.closeAllConnections();
  };
}

async function answer(
  request: IncomingMessage,
  credentials: AccessKey,
  interruptions: Interruptions,
): Promise<Reply> {
  if (Number(request.headers['content-length'] ?? 0) > MOST_BYTES)
    return refusal(413, 'the body is too large');
  const body = await buffer(request);
  if ((await signatureProblem(request, body, credentials)) !== undefined)
    return refusal(403, "sign the request with the region's access key");
  const route = `${request.method} ${request.url}`;
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
