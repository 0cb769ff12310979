/** Calls of the HTTP API as any AWS client makes them: signed with SigV4 for execute-api. */
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { request } from 'undici';
import type { AccessKey } from '../access/access-key.ts';
import { type Endpoints, REGION, type Stack } from './clients.ts';

interface ApiReply {
  readonly status: number;
  readonly body: unknown;
}

export interface ApiClient {
  call(method: string, path: string, body?: string): Promise<ApiReply>;
  /** The same without a signature, to see it refused. */
  callUnsigned(method: string, path: string): Promise<ApiReply>;
}

/** A region, or what of it a call needs. */
export interface ApiOwner {
  readonly endpoints: Endpoints;
  readonly credentials: AccessKey;
  readonly stack: Stack;
}

export function apiClient({ endpoints, credentials, stack }: ApiOwner): ApiClient {
  // The API's own host name need not resolve on this machine: the emulator goes by the Host header.
  const { host } = new URL(stack.apiUrl);
  const send = async (method: string, path: string, headers: Record<string, string>, body?: string) => {
    const reply = await request(`${endpoints.aws}${path}`, {
      method: method as 'GET',
      headers: { ...headers, host },
      ...(body !== undefined && { body }),
    });
    const text = await reply.body.text();
    return { status: reply.statusCode, body: parse(text) };
  };
  const signer = new SignatureV4({
    service: 'execute-api',
    region: REGION,
    credentials,
    sha256: Sha256,
  });
  return {
    call: async (method, path, body) => {
      const [pathname = '/', search = ''] = path.split('?');
      const signed = await signer.sign({
        method,
        protocol: 'http:',
        hostname: host,
        path: pathname,
        query: Object.fromEntries(new URLSearchParams(search)),
        headers: { host, 'content-type': 'application/json' },
        ...(body !== undefined && { body }),
      });
      return send(method, path, signed.headers, body);
    },
    callUnsigned: async (method, path) => send(method, path, {}),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
