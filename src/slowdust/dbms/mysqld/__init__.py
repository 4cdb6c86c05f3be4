"""The common part of MySQL and MariaDB, whose servers are one process, mysqld or mariadbd."""
