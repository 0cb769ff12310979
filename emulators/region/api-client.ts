/** Calls of the HTTP API as any AWS client makes them: signed with SigV4 for execute-api. */

import { signedFetch } from '@tidewheel/kit/signed-headers.ts';
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
  const headers = { 'content-type': 'application/json' };
  const urlOf = (path: string): URL => new URL(`${stack.apiUrl}${path}`);
  const replyOf = async (answer: Response) => ({ status: answer.status, body: parse(await answer.text()) });
  return {
    call: async (method, path, body) =>
      replyOf(await signedFetch(urlOf(path), { method, headers, body }, signing)),
    callUnsigned: async (method, path) => replyOf(await fetch(urlOf(path), { method })),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
