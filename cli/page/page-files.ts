/** The page's files, built as a browser takes them. */
import { buildPage as build } from '../../serverless/built-page.cjs';

export interface PageFile {
  readonly type: string;
  readonly brotli: Uint8Array;
  /** For browsers that take brotli over TLS alone. */
  readonly gzip: Uint8Array;
}

/** @returns by path in the address */
export const buildPage = async (): Promise<ReadonlyMap<string, PageFile>> =>
  new Map((await build()).map(({ path, ...file }) => [path, file]));
