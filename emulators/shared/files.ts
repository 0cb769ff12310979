/** Files of a folder, as an upload sees them. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Paths of all files below a folder, relative to it, in order. Links are followed, as `aws s3 cp` does: the recipes
 * link to what they share. What Python leaves behind is left out.
 */
export async function filesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name);
    if ((await stat(path)).isDirectory()) {
      if (name !== '__pycache__') found.push(...(await filesBelow(path)).map((file) => join(name, file)));
    } else found.push(name);
  }
  return found;
}
