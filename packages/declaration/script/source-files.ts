/** Excludes folder markers of S3's console and caches of tools. */
export const belongsToSource = (name: string): boolean =>
  name !== '' && !name.endsWith('/') && !name.split('/').some((part) => LEFT_BEHIND.test(part));

const LEFT_BEHIND = /^(__pycache__|\.git|\..*_cache|\.DS_Store)$/;
