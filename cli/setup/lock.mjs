/**
 * One set-up at a time in this clone. The lock is a symbolic link to the name of its holder: the system makes it whole
 * or not at all, and the name tells whether the holder still lives.
 */
import { mkdirSync, readFileSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';

const POLL_MS = 300;

/**
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {(holder: string) => void} onWait called once, with the holder's process number, if another set-up works
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait) {
  mkdirSync(dirname(file), { recursive: true });
  const own = nameOf(process.pid);
  let hasWaited = false;
  while (!makeLink(own, file)) {
    const holder = holderOf(file);
    const pid = holder && holder.split(' ')[0];
    if (holder && nameOf(pid) !== holder) takeAway(file, holder);
    else {
      if (holder && !hasWaited) onWait(pid);
      hasWaited = true;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
  try {
    return await work();
  } finally {
    if (holderOf(file) === own) unlinkSync(file);
  }
}

/** A living process's number and start time, since numbers are used again. Without /proc the number must do. */
function nameOf(pid) {
  const isAlive = tryTo(() => process.kill(Number(pid), 0), 'ESRCH', 'EPERM');
  const stat = tryTo(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), 'ENOENT', 'ESRCH');
  if (!stat) return isAlive ? `${pid} ` : undefined;
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A killed process whose parent does not collect it stays as a zombie.
  return state === 'Z' ? undefined : `${pid} ${fields[18]}`;
}

const holderOf = (file) => tryTo(() => readlinkSync(file), 'ENOENT');

const makeLink = (name, file) => tryTo(() => symlinkSync(name, file) === undefined, 'EEXIST');

/** Another process may have done the same and hold the lock already: its link goes back. */
function takeAway(file, dead) {
  const aside = `${file}.${process.pid}`;
  tryTo(() => renameSync(file, aside), 'ENOENT');
  const taken = holderOf(aside);
  tryTo(() => unlinkSync(aside), 'ENOENT');
  if (taken && taken !== dead) makeLink(taken, file);
}

function tryTo(action, ...expected) {
  try {
    return action();
  } catch (error) {
    if (expected.includes(error.code)) return undefined;
    throw error;
  }
}
