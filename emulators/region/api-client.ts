/** Calls of the HTTP API as any AWS client makes them: signed with SigV4 for execute-api. */

import { signedHeaders } from '@tidewheel/kit/signed-headers.ts';
import { request } from 'undici';
import type { AccessKey } from '../access/access-key.ts';
import { type DeployedStack, REGION } from './clients.ts';

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
  readonly credentials: AccessKey;
  readonly stack: DeployedStack;
}

export function apiClient({ credentials, stack }: ApiOwner): ApiClient {
  const signing = { service: 'execute-api', region: REGION, credentials };
  const urlOf = (path: string): URL => new URL(`${stack.apiUrl}${path}`);
  const send = async (method: string, url: URL, headers: Record<string, string>, body?: string) => {
    const reply = await request(url, {
      method: method as 'GET',
      headers,
      ...(body !== undefined && { body }),
    });
    const text = await reply.body.text();
    return { status: reply.statusCode, body: parse(text) };
  };
  return {
    call: async (method, path, body) => {
      const url = urlOf(path);
      const headers = { 'content-type': 'application/json' };
      return send(method, url, await signedHeaders(url, { method, headers, body }, signing), body);
    },
    callUnsigned: async (method, path) => send(method, urlOf(path), {}),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
