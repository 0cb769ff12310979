/** AWS JSON 1.1 over HTTP, for this machine alone. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { messageOf, RequestRefused } from '../model/errors.ts';
import type { Answer } from './operations.ts';

export type Dispatch = (operation: string, body: unknown) => Promise<Answer>;

const TARGET = /^SageMaker\.([A-Za-z]+)$/;
const MAXIMUM_BODY_BYTES = 4 * 1024 * 1024;
const INTERNAL_ERROR = 500;

export function makeHttpServer(dispatch: Dispatch, log: (line: string) => void): Server {
  return createServer((request, response) => {
    void answer(request, dispatch, log).then(({ status, body }) => reply(response, status, body));
  });
}

interface Reply {
  readonly status: number;
  readonly body: Answer;
}

async function answer(
  request: IncomingMessage,
  dispatch: Dispatch,
  log: (line: string) => void,
): Promise<Reply> {
  try {
    refuseStrangers(request);
    const target = TARGET.exec(request.headers['x-amz-target']?.toString() ?? '');
    if (request.method !== 'POST' || !target?.[1]) {
      throw new RequestRefused(
        'UnknownOperationException',
        'POST with the header X-Amz-Target: SageMaker.<Operation>',
      );
    }
    return { status: 200, body: await dispatch(target[1], await readBody(request)) };
  } catch (error) {
    if (error instanceof RequestRefused) {
      // Modelled errors of SageMaker spell it Message, the unmodelled ones message: clients read either.
      return {
        status: error.statusCode,
        body: { __type: error.name, message: error.message, Message: error.message },
      };
    }
    log(`a request failed: ${messageOf(error)}`);
    return {
      status: INTERNAL_ERROR,
      body: { __type: 'InternalFailure', message: 'The local SageMaker failed, see its log' },
    };
  }
}

const LOCAL_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|([a-z0-9-]+\.)+localhost)(:\d+)?$/i;

/**
 * A caller of this server can run programs. A page in a browser must not: it sends Origin, or after rebinding its
 * name to 127.0.0.1 the Host of its own. A signature is asked for, as AWS does, but not verified.
 */
function refuseStrangers(request: IncomingMessage): void {
  if (request.headers.origin !== undefined || !LOCAL_HOST.test(request.headers.host ?? '')) {
    throw new RequestRefused(
      'AccessDeniedException',
      'The local SageMaker answers programs on this machine only',
      403,
    );
  }
  if (!request.headers.authorization) {
    throw new RequestRefused(
      'MissingAuthenticationTokenException',
      'Missing Authentication Token: sign the request',
      403,
    );
  }
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > MAXIMUM_BODY_BYTES) {
      throw new RequestRefused(
        'RequestEntityTooLargeException',
        `The body is over ${MAXIMUM_BODY_BYTES} bytes`,
        413,
      );
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as unknown;
  } catch (error) {
    throw new RequestRefused('SerializationException', `The body is no JSON: ${messageOf(error)}`);
  }
}

function reply(response: ServerResponse, status: number, body: Answer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.1',
    'content-length': Buffer.byteLength(text),
    'x-amzn-requestid': randomUUID(),
  });
  response.end(text);
}
