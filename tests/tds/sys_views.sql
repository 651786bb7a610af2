create schema sys;
grant usage on schema sys to public;
create view sys.dm_os_sys_info as select 2 as cpu_count, 512 as max_workers_count, cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as ms_ticks, timestamp '2026-01-02 03:04:05' as sqlserver_start_time;
create view sys.dm_os_wait_stats as select * from (values ('THREADPOOL', 7604, 1420267, 2200, 0), ('LCK_M_X', 2, 30, 20, 1), ('WRITELOG', 0, 0, 0, 0)) as t (wait_type, waiting_tasks_count, wait_time_ms, max_wait_time_ms, signal_wait_time_ms);
create view sys.dm_os_waiting_tasks as select * from (values ('LCK_M_X', 900, 51), ('LCK_M_X', 100, null), (null, 1, null)) as t (wait_type, wait_duration_ms, blocking_session_id);
create view sys.dm_os_schedulers as select * from (values ('VISIBLE ONLINE', 0, 2, 0, 0, 10, 5, 0), ('VISIBLE ONLINE', 1, 3, 1, 0, 12, 6, 0), ('HIDDEN ONLINE', 1, 9, 9, 9, 9, 9, 0)) as t (status, is_idle, runnable_tasks_count, work_queue_count, pending_disk_io_count, current_workers_count, active_workers_count, failed_to_create_worker);
create view sys.dm_exec_query_resource_semaphores as select * from (values (1, 1024, 160000, 0, 0), (0, 0, 2000, null, null)) as t (waiter_count, granted_memory_kb, target_memory_kb, timeout_error_count, forced_grant_count);
create view sys.dm_os_performance_counters as select * from (values ('SQLServer:SQL Errors', 'Errors/sec', '_Total', 12), ('SQLServer:SQL Errors', 'Errors/sec', 'User Errors', 9), ('SQLServer:Locks', 'Number of Deadlocks/sec   ', '_Total  ', 4), ('SQLServer:Locks', 'Number of Deadlocks/sec', 'Key', 3)) as t (object_name, counter_name, instance_name, cntr_value);
grant select on all tables in schema sys to public;
