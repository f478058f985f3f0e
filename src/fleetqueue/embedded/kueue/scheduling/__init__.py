"""Who may run next: quota, queues, flavors, preemption, and the scheduler that admits Workloads."""
