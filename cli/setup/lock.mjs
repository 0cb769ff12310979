/** One set-up at a time in this clone. The lock names its holder, so that one left by a killed set-up is recognised. */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 300;

/**
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @param {(holder: number) => void} onWait called once when another set-up is at work
 * @returns {Promise<T>}
 */
export async function withLock(file, work, onWait) {
  mkdirSync(dirname(file), { recursive: true });
  let told = false;
  while (!acquire(file)) {
    const holder = read(file);
    if (holder && !isAlive(holder)) {
      remove(file, holder);
      continue;
    }
    if (holder && !told) onWait(holder.pid);
    told = true;
    await sleep(POLL_MS);
  }
  const mine = read(file);
  try {
    return await work();
  } finally {
    if (mine && read(file)?.text === mine.text) rmSync(file, { force: true });
  }
}

/** A link is made whole or not at all: nobody reads a half-written lock. */
function acquire(file) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, JSON.stringify({ pid: process.pid, started: startOf(process.pid) }));
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Takes a dead holder's lock away; one that has changed hands meanwhile is put back. */
function remove(file, holder) {
  const aside = `${file}.stale-${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (read(aside)?.text !== holder.text) {
    try {
      linkSync(aside, file);
    } catch {
      // Somebody has a new one already.
    }
  }
  rmSync(aside, { force: true });
}

function read(file) {
  try {
    const text = readFileSync(file, 'utf8');
    const { pid, started } = JSON.parse(text);
    return { pid: Number(pid), started: String(started), text };
  } catch {
    return undefined;
  }
}

/** A process number is used again some day; together with its start time it is not. */
function isAlive({ pid, started }) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
  return startOf(pid) === started;
}

/** Start time in clock ticks since boot, where the system tells it; else nothing, and the number must do. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
