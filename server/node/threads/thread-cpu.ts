/** The processor time that the calling thread has taken, in milliseconds. */
export function threadCpuMs(): number {
  const {user, system} = process.threadCpuUsage();
  return (user + system) / 1_000;
}
