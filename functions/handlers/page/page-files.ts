/** The page's files. Bundling puts them here (serverless/built-page.cjs): a function cannot build them. */
import type { BuiltFile } from '../../api/page/serve.ts';

export const HTML: string = '';
export const FILES: readonly BuiltFile[] = [];
