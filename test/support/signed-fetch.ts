/** A request as an AWS client signs it, where a test needs the plain answer or a whole client would be too much. */
import type { AccessKey } from '@tidewheel/emulators/access/access-key.ts';
import * as kit from '@tidewheel/kit/signed-headers.ts';
import { TEST_KEY } from './emulator.ts';

export interface SignedRequest {
  readonly service: string;
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly credentials?: AccessKey;
}

export const signedFetch = (address: string, request: SignedRequest): Promise<Response> =>
  kit.signedFetch(...signable(address, request));

/** What the request is sent with; `host` is among them. */
export const signedHeaders = (address: string, request: SignedRequest): Promise<Record<string, string>> =>
  kit.signedHeaders(...signable(address, request));

const signable = (
  address: string,
  { service, method = 'GET', credentials = TEST_KEY, ...rest }: SignedRequest,
): [URL, kit.Signable, kit.Signing] => [
  new URL(address),
  { method, ...rest },
  { service, region: 'us-east-1', credentials },
];
