/** AWS JSON 1.1 over HTTP, for this machine alone. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { AccessKey } from '../../access/access-key.ts';
import { type LocalServer, serveLocally } from '../../access/local-server.ts';
import { type SignatureProblem, signedBody } from '../../access/signature.ts';
import { RequestRefused } from '../model/refusals.ts';
import type { OperationAnswer } from './training-operations.ts';

type Dispatch = (operation: string, body: unknown) => Promise<OperationAnswer>;

const TARGET = /^SageMaker\.([A-Za-z]+)$/;
const MAXIMUM_BODY_BYTES = 4 * 1024 * 1024;
const INTERNAL_ERROR = 500;

interface HttpServerOptions {
  readonly dispatch: Dispatch;
  /** The key that clients sign with. */
  readonly credentials: AccessKey;
  readonly log: (line: string) => void;
}

export const startHttpServer = (options: HttpServerOptions, port: number): Promise<LocalServer> =>
  serveLocally(
    async (request, response, url) => {
      const { status, body } = await answer(request, url, options);
      reply(response, status, body);
    },
    { port, log: options.log },
  );

interface Reply {
  readonly status: number;
  readonly body: OperationAnswer;
}

async function answer(
  request: IncomingMessage,
  url: URL,
  { dispatch, credentials, log }: HttpServerOptions,
): Promise<Reply> {
  try {
    const body = await signedBody(request, url, { key: credentials, mostBytes: MAXIMUM_BODY_BYTES });
    if (!Buffer.isBuffer(body)) throw REFUSALS[body]();
    const target = TARGET.exec(request.headers['x-amz-target']?.toString() ?? '');
    if (request.method !== 'POST' || !target?.[1]) {
      throw new RequestRefused(
        'UnknownOperationException',
        'POST with the header X-Amz-Target: SageMaker.<Operation>',
      );
    }
    return { status: 200, body: await dispatch(target[1], parse(body)) };
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

/** Names and status codes as AWS has them in its JSON protocol. */
const REFUSALS: Readonly<Record<SignatureProblem, () => RequestRefused>> = {
  unsigned: () =>
    new RequestRefused(
      'MissingAuthenticationTokenException',
      'Missing Authentication Token: sign the request',
      403,
    ),
  malformed: () =>
    new RequestRefused('IncompleteSignatureException', 'Sign the request with AWS4-HMAC-SHA256'),
  'unknown-key': () =>
    new RequestRefused(
      'UnrecognizedClientException',
      'The security token included in the request is invalid: a local region answers its own access key only',
    ),
  'too-large': () =>
    new RequestRefused('RequestEntityTooLargeException', `The body is over ${MAXIMUM_BODY_BYTES} bytes`, 413),
  mismatch: () =>
    new RequestRefused(
      'InvalidSignatureException',
      'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key.',
    ),
};

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8') || '{}') as unknown;
  } catch (error) {
    throw new RequestRefused('SerializationException', `The body is no JSON: ${messageOf(error)}`);
  }
}

function reply(response: ServerResponse, status: number, body: OperationAnswer): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.1',
    'content-length': Buffer.byteLength(text),
    'x-amzn-requestid': randomUUID(),
  });
  response.end(text);
}
